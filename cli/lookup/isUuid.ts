/** Returns true when words are an id, and nothing beside it. */
export const isUuid = (words: string): boolean => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(words);
