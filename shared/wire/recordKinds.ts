/** Every kind of record, in the order the catalogs list them. */
export const recordKinds = ['llm', 'agent', 'workflow', 'trace', 'control', 'retriever', 'session', 'tool'] as const;
export type RecordKind = (typeof recordKinds)[number];

export const spanKinds = ['llm', 'agent', 'workflow', 'control', 'retriever', 'tool'] as const satisfies readonly RecordKind[];
export type SpanKind = (typeof spanKinds)[number];
export const isSpanKind = (kind: RecordKind): kind is SpanKind => (spanKinds as readonly RecordKind[]).includes(kind);

/** The kinds that are logged in trees, as traces and their spans; a session has routes of its own. */
export const loggedKinds = ['trace', ...spanKinds] as const satisfies readonly RecordKind[];
export type LoggedKind = (typeof loggedKinds)[number];
