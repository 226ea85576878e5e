// The README's pictures of the page, in light and dark.
//
//   scripts/page.sh docs/images

import {
  ROOT,
  addMail,
  api,
  closeBrowser,
  consent,
  report,
  retry,
  suppress,
  visit,
} from "./kit.mjs";

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

const members = new Map();
for (const [name, joined, status] of MEMBERS.toReversed()) {
  const plain = name.normalize("NFD").replaceAll(/\p{M}/gu, "").replaceAll(" ", ".");
  const email = `${plain.toLowerCase()}@example.org`;
  const body = { name, joined, status, email };
  members.set(name, await api("members", { method: "POST", body }));
}
await suppress(members.get("Bo Ek").email, { reason: "hard_bounce" });
const ann = members.get("Ann Lee");
const occurred_at = "2024-02-11T18:20:00Z";
await consent(ann, { topic: "newsletter", state: "granted", occurred_at });
await consent(members.get("Zoë Åström"), { state: "withdrawn", occurred_at });

const at = (time) => `2024-03-01T09:${time}Z`;
const card = await addMail(ann, {
  subject: "Your membership card",
  recipient: "ann.lee@exmaple.org",
  sender: "office@club.example",
  status: "queued",
  status_at: at("30:00"),
});
await report(card, [
  {
    type: "bounced",
    occurred_at: at("30:04"),
    source: "postmark",
    smtp_code: 550,
    enhanced_code: "5.1.2",
    diagnostic: "550 5.1.2 Host unknown (Domain name not found)",
    remote_mta: "mx.club.example",
  },
  { type: "sent", occurred_at: at("30:01"), source: "postmark", smtp_code: 250 },
]);
await retry(card);
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

  const place = `#member/${ann.id}/mail-records/${card.id}`;
  const tall = { width: 1120, height: 1000 };
  const member = await visit(`${ROOT}/${place}`, { viewport: tall, colorScheme });
  await member.page.getByText("3 shown, oldest first.").waitFor();
  await member.page.evaluate(() => {
    document.activeElement.blur();
    document.getElementById("mailability").scrollIntoView();
    scrollBy(0, -16);
  });
  await member.page.screenshot({ path: `${folder}/member-${colorScheme}.png` });
}
await closeBrowser();
