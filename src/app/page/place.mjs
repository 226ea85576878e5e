// Where in the page a member or one of her mail records is shown: the fragment of its address.

export function placeOf(memberId, mailRecordId) {
  const member = `#member/${memberId}`;
  return mailRecordId === undefined ? member : `${member}/mail-records/${mailRecordId}`;
}

// The ids of the member and of the mail record that a fragment names, if it does.
export function namedBy(fragment) {
  const [, memberId, mailRecordId] =
    /^#member\/([^/]+)(?:\/mail-records\/([^/]+))?$/u.exec(fragment) ?? [];
  return { memberId, mailRecordId };
}
