import type { ChatMessage } from '../providers/chatMessage.ts';

/** The instructions for a model that writes the code of a metric. They say what `docs/code-metrics.md` says. */
const system = `You write metrics in Python 3 for a service that evaluates applications of language models.

A metric is one file that defines

    def scorer_fn(*, step_object, **kwargs) -> float:

It gets one record and returns a number, a boolean, a text, or None where it does not apply to the record. Annotate what it returns as float, int, bool or str: that is the type of its values. A share is a float between 0 and 1.

step_object has
- type: 'session', 'trace', 'llm', 'retriever', 'tool', 'workflow', 'agent' or 'control'
- name, input, output: text. Of an 'llm' record input is a list of messages with .role and .content, and output is a message. Of a 'retriever' record output is a list of documents with .content.
- dataset_input, dataset_output: the question and the reference answer of the dataset row, or None
- dataset_metadata, user_metadata: dicts
- metrics: duration_ns, num_input_tokens, num_output_tokens, num_total_tokens; each may be None
- model, tools, error_message: may be None
- spans: the records below it, at any depth, in order of their start; a 'session' has traces as well

Only the standard library of Python is there. There are no files, no network and no other processes. Texts may be empty and values may be None: the code must not fail on them.

Answer with the whole file in one fenced block, and nothing else.`;

/** Asks for code. @param nodeType the kind of records that it is to score */
export const codeMessages = (sentence: string, nodeType: string): ChatMessage[] => [
  { role: 'system', content: system },
  { role: 'user', content: `Write a metric for records of the kind '${nodeType}'. What it measures:\n\n${sentence}` },
];

/** Asks once more, for code that can be used. */
export const mendMessages = (answer: string, problem: string): ChatMessage[] => [
  { role: 'assistant', content: answer },
  { role: 'user', content: `This cannot be used: ${problem}\n\nAnswer with the whole mended file in one fenced block.` },
];
