export type CodeLanguage = 'python' | 'javascript';

/** The language of the code of a metric: JavaScript exports its function, Python defines `scorer_fn`. */
export const languageOf = (code: string): CodeLanguage =>
  /^export\s/m.test(code) && !/^\s*(?:async\s+)?def\s+scorer_fn\b/m.test(code) ? 'javascript' : 'python';

/** The function of the code that scores a record. */
export const scoringFunction: Readonly<Record<CodeLanguage, string>> = { python: 'scorer_fn', javascript: 'scorer' };

/** The word of each language for no value. */
export const noValue: Readonly<Record<CodeLanguage, string>> = { python: 'None', javascript: 'null' };
