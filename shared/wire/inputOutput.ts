import { z } from 'zod';
import { readBy } from './common.ts';
import { loggedDocuments, withFieldsInMetadata } from './loggedDocuments.ts';
import { ControlResult, Document, LoggedMessage, StepInput, StepOutput, Text, TraceInput, TraceOutput } from './recordParts.ts';

// The input and the output of a record by its kind, as callers log them and as answers show them. A bare string where messages or documents belong
// is taken too, as the clients themselves would have turned it.

const messagesOf = (role: LoggedMessage['role']) =>
  z.union([
    z.array(LoggedMessage),
    LoggedMessage.transform((message) => [message]),
    Text.transform((content): LoggedMessage[] => [{ role, content }]),
  ]);
const answer = z.union([LoggedMessage, Text.transform((content): LoggedMessage => ({ role: 'assistant', content }))]);
const textDocument = Text.transform((content): z.output<typeof Document> => ({ content }));
const loggedDocument = readBy(withFieldsInMetadata, z.union([Document, textDocument]));
const documents = z.union([z.array(loggedDocument), loggedDocument.transform((one) => [one])]);
const stepOutput = readBy(loggedDocuments, StepOutput);

export const loggedInput = {
  trace: TraceInput.nullish(),
  agent: StepInput.nullish(),
  workflow: StepInput.nullish(),
  control: StepInput.nullish(),
  llm: messagesOf('user').nullish(),
  tool: Text.nullish(),
  retriever: Text.nullish(),
};

export const loggedOutput = {
  trace: TraceOutput.nullish(),
  agent: stepOutput.nullish(),
  workflow: stepOutput.nullish(),
  control: ControlResult.nullish(),
  llm: answer.nullish(),
  tool: Text.nullish(),
  retriever: documents.nullish(),
};

export const answeredInput = {
  trace: TraceInput,
  session: StepInput,
  agent: StepInput,
  workflow: StepInput,
  control: StepInput,
  llm: z.array(LoggedMessage),
  tool: z.string(),
  retriever: z.string(),
};

export const answeredOutput = {
  trace: TraceOutput.nullable(),
  session: StepOutput.nullable(),
  agent: StepOutput.nullable(),
  workflow: StepOutput.nullable(),
  control: ControlResult.nullable(),
  llm: LoggedMessage.nullable(),
  tool: z.string().nullable(),
  retriever: z.array(Document).nullable(),
};

/** A redacted twin may be absent where its field is not. */
export const answeredRedactedInput = {
  trace: answeredInput.trace.nullable(),
  session: answeredInput.session.nullable(),
  agent: answeredInput.agent.nullable(),
  workflow: answeredInput.workflow.nullable(),
  control: answeredInput.control.nullable(),
  llm: answeredInput.llm.nullable(),
  tool: answeredInput.tool.nullable(),
  retriever: answeredInput.retriever.nullable(),
};
