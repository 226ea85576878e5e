// The README's pictures of the page, in light and dark.
//
//   scripts/page.sh docs/images

import { ROOT, api, closeBrowser, visit } from "./kit.mjs";

const [folder] = process.argv.slice(2);

const MEMBERS = [
  ["Ann Lee", "2019-05-01", "active"],
  ["Zoë Åström", "2021-09-12", "active"],
  ["Óscar Núñez", "2022-01-20", "suspended"],
  ["Bo Ek", "2023-03-08", "active"],
  ["Nguyễn Thị Mai", "2023-11-30", "active"],
  ["Frédérique Dubois", "2024-02-14", "pending"],
  ["Jürgen Köhler", "2024-06-01", "active"],
];

for (const [name, joined, status] of MEMBERS.toReversed()) {
  const plain = name.normalize("NFD").replaceAll(/\p{M}/gu, "").replaceAll(" ", ".");
  const email = `${plain.toLowerCase()}@example.org`;
  await api("members", { method: "POST", body: { name, joined, status, email } });
}
for (const colorScheme of ["light", "dark"]) {
  const viewport = { width: 1120, height: 800 };
  const { page, paged, streamed, press } = await visit(ROOT, { viewport, colorScheme });
  await paged.getByText("Rows 1 to 50").waitFor();
  await press("Stream");
  await streamed.getByText("The list is complete").waitFor();
  // By now the connections to the database are open.
  await press("Load page");
  await paged.getByText("Rows 1 to 50").waitFor();
  await streamed.getByText("The latest").waitFor();
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement.blur());
  await page.screenshot({ path: `${folder}/page-${colorScheme}.png` });
}
await closeBrowser();
