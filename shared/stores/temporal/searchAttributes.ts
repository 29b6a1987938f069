/** What our workflows are searchable by in Temporal's own UI; all of type Keyword. Registered at start, with the dev server and with others. */
export const searchAttributes = ['AssayProject', 'AssayExperiment', 'AssayGroup', 'AssayStatus'] as const;
