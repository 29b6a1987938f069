/**
 * The text by which texts that differ in case alone are equal: full case folding of Unicode, as `caseFoldUTF8` of the engine has it, so that ς is σ and
 * ß is ss. `foldedSql` (stores/postgres/conditions.ts) is the same for Postgres. `toLowerCase` alone is not enough: it makes a Σ at the end of a word
 * ς and one before another letter σ, and leaves ß and ſ as they are.
 */
export const foldCase = (text: string): string => text.split(DOTLESS_I).map(foldPart).join(DOTLESS_I);

/** It folds to itself; only the way through upper case makes an i of it. */
const DOTLESS_I = 'ı';

const foldPart = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
