/** `JSON.parse` and `JSON.rawJSON` of ECMAScript's proposal for the sources of numbers, which Node.js has. */
interface JsonWithSources {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { rawJSON: string };
}

export const jsonWithSources = JSON as unknown as JsonWithSources;
