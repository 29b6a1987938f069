import { fc } from '@fast-check/vitest';

/** Spans as anybody may write them: fields of the wrong type, unknown kinds and roles, texts that no store takes. @param deepValues nest very deep */
export function oddSpans(deepValues: readonly unknown[]) {
  const oddText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(
      '\ud800',
      'a\u0000b',
      '__proto__',
      'constructor',
      '',
      ' ',
      '12.5',
      'NaN',
      'human',
      '2026-01-01T00:00:00Z',
      '+275000-01-01T00:00:00Z',
    ),
  );
  const oddNumber = fc.oneof(
    fc.double(),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1, 12.5, 2 ** 53, 1e300, -0, 2 ** 31, -(2 ** 40)),
  );
  const proto = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": null, "toString": "t"}') as unknown;
  const { value: odd } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      oddText,
      oddNumber,
      fc.constantFrom(null, undefined, true, proto, ...deepValues),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(oddText, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  const maybe = <T>(expected: fc.Arbitrary<T>) =>
    fc.option(fc.oneof({ weight: 2, arbitrary: expected }, odd), { nil: undefined });
  const message = fc.record(
    {
      role: maybe(fc.constantFrom('user', 'human', 'ai', 'model', 'critic')),
      content: maybe(fc.oneof(oddText, fc.array(fc.oneof(odd, fc.record({ type: fc.constant('image_url'), image_url: odd }))))),
      tool_calls: maybe(fc.array(fc.oneof(odd, fc.record({ id: odd, function: fc.record({ name: odd, arguments: odd }) })))),
      tool_call_id: maybe(oddText),
    },
    { requiredKeys: [] },
  );
  const { span } = fc.letrec<{ span: unknown }>((tie) => ({
    span: fc.oneof(
      { maxDepth: 3 },
      { weight: 1, arbitrary: odd },
      {
        weight: 6,
        arbitrary: fc.record(
          {
            type: maybe(fc.constantFrom('llm', 'tool', 'retriever', 'workflow', 'agent', 'control', 'chain')),
            id: maybe(fc.uuid()),
            name: maybe(oddText),
            created_at: maybe(oddText),
            input: maybe(fc.oneof(message, fc.array(message, { maxLength: 3 }))),
            output: maybe(fc.oneof(message, fc.array(fc.record({ content: odd, metadata: odd }), { maxLength: 2 }))),
            redacted_input: maybe(oddText),
            metrics: maybe(fc.record({ duration_ns: odd, num_input_tokens: odd, cost: odd, own: odd }, { requiredKeys: [] })),
            tags: maybe(fc.array(odd, { maxLength: 3 })),
            user_metadata: maybe(fc.dictionary(oddText, odd, { maxKeys: 3, noNullPrototype: true })),
            status_code: maybe(oddNumber),
            step_number: maybe(oddNumber),
            temperature: maybe(oddNumber),
            model: maybe(oddText),
            tools: maybe(fc.array(odd, { maxLength: 2 })),
            events: maybe(fc.array(fc.record({ type: fc.constant('message'), role: odd, content: odd }), { maxLength: 2 })),
            agent_type: maybe(oddText),
            check_stage: maybe(oddText),
            session_id: maybe(oddText),
            spans: fc.option(fc.oneof({ weight: 4, arbitrary: fc.array(tie('span'), { maxLength: 3 }) }, odd), {
              nil: undefined,
            }),
          },
          { requiredKeys: [] },
        ),
      },
    ),
  }));
  return { odd, oddText, oddNumber, maybe, span };
}
