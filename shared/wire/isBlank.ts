/** True of a text without a character that can be seen. */
export const isBlank = (text: string | null | undefined): text is null | undefined | '' =>
  !text || !/[^\s\p{Cc}\p{Cf}]/u.test(text);
