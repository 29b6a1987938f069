/** Text that a store can hold: Postgres holds no NUL, and UTF-8 no half of a character. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\u0000', '');
