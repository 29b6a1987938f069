export const loggedMessageRoles = ['agent', 'assistant', 'developer', 'function', 'system', 'tool', 'user'] as const;
export type MessageRole = (typeof loggedMessageRoles)[number];

const roles: ReadonlyMap<string, MessageRole> = new Map<string, MessageRole>([
  ...loggedMessageRoles.map((role) => [role, role] as const),
  ...(['human', 'customer', 'enduser', 'person'] as const).map((name) => [name, 'user'] as const),
  ...(['ai', 'model', 'bot', 'chatbot', 'llm', 'gpt', 'machine'] as const).map((name) => [name, 'assistant'] as const),
  ...(['sys', 'systemprompt', 'instruction', 'instructions'] as const).map((name) => [name, 'system'] as const),
  ...(['toolresult', 'toolresponse', 'tooloutput', 'observation'] as const).map((name) => [name, 'tool'] as const),
  ...(['functioncall', 'functionresult', 'functionresponse', 'functionoutput'] as const).map(
    (name) => [name, 'function'] as const,
  ),
]);

/**
 * The role of the interface that a name of any tool means: `human`, `AI` and `HumanMessage` are known, too. Undefined for a name that is not known.
 */
export function messageRole(name: unknown): MessageRole | undefined {
  if (typeof name !== 'string' || name.length > MAX_NAME) return undefined;
  const letters = name.toLowerCase().replaceAll(/[^\p{L}]/gu, '');
  return roles.get(letters) ?? roles.get(letters.replace(/message(chunk)?$/, ''));
}

/** Characters of a role's name: longer texts are not looked at. */
const MAX_NAME = 64;
