interface Placeholder {
  /** The part of a record that it shows to a judge. */
  shows: string;
  /** True when a path may follow its name, as in `{{metadata.plan}}`. */
  hasMembers?: true;
}

/** Every name that a judge's prompt may have between double braces. */
export const judgePlaceholders = {
  input: { shows: 'what the record was given', hasMembers: true },
  query: { shows: 'the same as input', hasMembers: true },
  output: { shows: 'what the record gave', hasMembers: true },
  response: { shows: 'the same as output', hasMembers: true },
  expected: { shows: 'the reference answer of the row', hasMembers: true },
  reference: { shows: 'the same as expected', hasMembers: true },
  ground_truth: { shows: 'the same as expected', hasMembers: true },
  dataset_output: { shows: 'the same as expected', hasMembers: true },
  dataset: { shows: 'the dataset row, or a column of it', hasMembers: true },
  dataset_input: { shows: 'the input of the dataset row', hasMembers: true },
  dataset_metadata: { shows: 'the metadata of the dataset row', hasMembers: true },
  metadata: { shows: 'the metadata of the record', hasMembers: true },
  context: { shows: 'what was retrieved' },
  documents: { shows: 'the same as context' },
  tools: { shows: 'the tools that models were offered' },
  tool_calls: { shows: 'the tool calls with their results' },
  spans: { shows: 'the same as steps' },
  steps: { shows: 'the spans below the record' },
  transcript: { shows: 'what was asked and answered' },
} as const satisfies Record<string, Placeholder>;
export type JudgePlaceholder = keyof typeof judgePlaceholders;
