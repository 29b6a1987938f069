import { type AttributeTree, type AttributeValue, parseJson } from './attributes.ts';
import { isNothing, isTree } from './messageForms.ts';

/** The arguments of a call as JSON text, and what a library says of the call beside them. */
interface FunctionCall {
  text: string;
  beside: [string, AttributeValue][];
}

/**
 * Arguments by name out of the JSON text of a whole call: of a function of Python (`{"args": [], "kwargs": {"city": "Bonn"}}`, as decorators write it),
 * or of a callback of LangChain (`{"input_str": "…", "inputs": {"city": "Bonn"}, "metadata": {…}}`). Undefined for any other text, and where there are
 * arguments without a name.
 */
export function argumentsWithin(text: string): FunctionCall | undefined {
  const call = parseJson(text);
  if (!isTree(call)) return undefined;
  if ('input_str' in call && isTree(call.inputs)) return callWithin(call, 'inputs', 'input_str');
  return isTree(call.kwargs) && isNothing(call.args) ? callWithin(call, 'kwargs', 'args') : undefined;
}

/** @param repeated says nothing that the arguments do not say */
function callWithin(call: AttributeTree, place: 'inputs' | 'kwargs', repeated: string): FunctionCall {
  const { [place]: said, [repeated]: _, ...others } = call;
  return { text: JSON.stringify(said), beside: Object.entries(others).filter(([, value]) => !isNothing(value)) };
}
