/** How a request is changed for a model that does not take it as it is. */
export interface Adjustment {
  /** The field that the endpoint refuses. */
  field: string;
  /** Field that is sent in its place; absent: none. */
  as?: { field: string; value?: unknown };
  /** For people: `temperature is not sent`. Empty where no caller set the field. */
  note: string;
}

type Body = Record<string, unknown>;

/** Most models whose adjustments are remembered. */
const MAX_MODELS = 10_000;

/** Remembers for each model the parameters that its endpoint refused, so that the next call goes out as the endpoint takes it. */
export function refusedParameters() {
  const known = new Map<string, Adjustment[]>();
  return {
    of: (model: string): readonly Adjustment[] => known.get(model) ?? [],
    /**
     * Notes what a refusal calls for.
     * @param refused names that the endpoint's refusal holds
     * @param sent the body that was refused
     * @param mayLeaveOut whether a field may be left out, or only be sent under another name
     * @returns whether the next request is another one
     */
    note(model: string, refused: readonly string[], sent: Body, mayLeaveOut: (field: string) => boolean): boolean {
      const before = known.get(model) ?? [];
      const adjustment = adjustmentFor(refused, sent, mayLeaveOut, before);
      if (!adjustment) return false;
      if (!known.has(model) && known.size >= MAX_MODELS) known.delete(known.keys().next().value as string);
      known.set(model, [...before, adjustment]);
      return true;
    },
  };
}

/** Names of one thing in this protocol: reasoning models take the second one alone, older servers the first. */
const otherName: Readonly<Record<string, string>> = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' };

/** Fields that say how an answer is sent: they are left out wherever they are refused. */
const ofSending: Readonly<Record<string, string>> = { stream: 'the answer is not streamed', stream_options: '' };

function adjustmentFor(
  refused: readonly string[],
  sent: Body,
  mayLeaveOut: (field: string) => boolean,
  before: readonly Adjustment[],
): Adjustment | undefined {
  const field = refused.find((name) => Object.hasOwn(sent, name) && name !== 'model' && name !== 'messages');
  if (field === undefined) return undefined;
  const sending = ofSending[field];
  if (sending !== undefined) return { field, note: sending };
  const other = otherName[field];
  // A refusal of both leaves none to send.
  if (other !== undefined && !before.some((one) => one.field === other))
    return { field, as: { field: other }, note: `${field} is sent as ${other}` };
  if (!mayLeaveOut(field)) return undefined;
  if (field === 'response_format' && (sent.response_format as { type?: unknown } | null)?.type === 'json_schema')
    return { field, as: { field, value: { type: 'json_object' } }, note: 'response_format is json_object, without the schema' };
  return { field, note: `${field} is not sent` };
}

/** The body as the endpoint takes it, and what of it is otherwise than it was asked for. */
export function adjusted(body: Body, adjustments: readonly Adjustment[]): { body: Body; notes: string[] } {
  const result = { ...body };
  const notes: string[] = [];
  for (const { field, as, note } of adjustments) {
    if (!Object.hasOwn(result, field)) continue;
    // The lighter form of an answer's format stands in for the schema alone.
    if (as?.field === 'response_format' && (result.response_format as { type?: unknown } | null)?.type !== 'json_schema')
      continue;
    const value = as && 'value' in as ? as.value : result[field];
    delete result[field];
    if (as) result[as.field] = value;
    if (note !== '') notes.push(note);
  }
  return { body: result, notes };
}
