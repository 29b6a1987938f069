/** Kinds of calls that a control watches, in the column `applies_to`. The catalog of columns names the first two alone, as its specification does. */
export const controlAppliesTo = ['llm_call', 'tool_call', 'retriever_call', 'trace_call', 'session_call'] as const;
