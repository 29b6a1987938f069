import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { countedUsage, type UsageNode, usageNode } from '../../shared/records/countedUsage.ts';

/** A tree as `kind(what it says)`: `t` tokens, `c` a cost; one line a span, below the one that is indented less. */
function nodes(tree: string): UsageNode[] {
  const above: string[] = [];
  return tree
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, indent = '', id = '', type = '', says = ''] = /^( *)(\w+): (\w+) ?(\w*)$/.exec(line) ?? [];
      const depth = indent.length / 2;
      above[depth] = id;
      const parentId = depth === 0 ? 'trace' : (above[depth - 1] as string);
      return { id, parentId, type: type as UsageNode['type'], saysTokens: says.includes('t'), saysCost: says.includes('c') };
    });
}
const counted = (tree: string) => Object.fromEntries(countedUsage(nodes(tree)));

describe('of usage within usage', () => {
  test.each<[string, string, Record<string, string>]>([
    ['the outermost call counts', 'a: llm tc\n  b: llm tc\n    c: llm tc', { a: 'all', b: 'none', c: 'none' }],
    ['also with other spans between', 'a: llm tc\n  b: workflow\n    c: agent\n      d: llm tc', { a: 'all', d: 'none' }],
    ['calls beside each other all count', 'a: agent\n  b: llm tc\n  c: llm tc', { b: 'all', c: 'all' }],
    ['a call that says nothing leaves it to those within', 'a: llm\n  b: llm tc\n  c: llm tc', { a: 'none', b: 'all', c: 'all' }],
    ['tokens and cost are counted apart', 'a: llm t\n  b: llm tc', { a: 'tokens', b: 'cost' }],
    ['a cost that nothing says is missed once', 'a: llm t\n  b: llm t', { a: 'tokens', b: 'cost' }],
    [
      'a call that a tool makes is another one',
      'a: llm tc\n  b: tool\n    c: llm tc\n      d: llm tc',
      { a: 'all', c: 'all', d: 'none' },
    ],
    ['an agent repeats the sum of its calls', 'a: agent tc\n  b: llm tc', { a: 'none', b: 'all' }],
    ['an agent alone counts', 'a: agent tc\n  b: tool', { a: 'all' }],
    ['an agent whose calls say nothing counts', 'a: agent tc\n  b: llm\n  c: llm', { a: 'all', b: 'none', c: 'none' }],
    ['an agent that alone says the cost counts that', 'a: agent tc\n  b: llm t', { a: 'cost', b: 'tokens' }],
    ['the outermost of agents counts', 'a: agent tc\n  b: agent tc\n    c: workflow tc', { a: 'all', b: 'none', c: 'none' }],
    [
      'an agent without calls counts beside one with them',
      'a: agent tc\n  b: agent t\n  c: llm tc',
      { a: 'none', b: 'all', c: 'all' },
    ],
    [
      'an embedding within a retriever counts beside the call',
      'a: llm tc\n  b: retriever\n    c: workflow tc',
      { a: 'all', c: 'all' },
    ],
  ])('%s', (_, tree, expected) => {
    expect(counted(tree)).toEqual(expected);
    expect(Object.fromEntries(countedUsage(nodes(tree).reverse()))).toEqual(expected);
  });

  test('a call that says nothing but zeros leaves it to the call within', () => {
    const call = (id: string, parent_id: string | null, usage: Record<string, number>) =>
      usageNode({ id, parent_id, type: 'llm' }, usage);
    const zeros = { num_input_tokens: 0, num_output_tokens: 0, cost: 0 };
    const said = { num_input_tokens: 1000, num_output_tokens: 0, cost: 0 };
    const of = (outer: object, inner: object) =>
      Object.fromEntries(countedUsage([call('a', null, { ...outer }), call('b', 'a', { ...inner })]));
    expect(of(zeros, said)).toEqual({ a: 'none', b: 'all' });
    expect(of(said, zeros)).toEqual({ a: 'all', b: 'none' });
    expect(of(zeros, zeros)).toEqual({ a: 'none', b: 'all' });
    expect(countedUsage([call('a', null, zeros)])).toEqual(new Map([['a', 'all']]));
  });

  test('loops of parents end', () => {
    const call = (id: string, parentId: string): UsageNode => ({ id, parentId, type: 'llm', saysTokens: true, saysCost: true });
    expect(countedUsage([call('a', 'b'), call('b', 'a'), call('c', 'c')]).size).toBe(3);
  });
});

const node = fc.record({
  up: fc.nat({ max: 6 }),
  type: fc.constantFrom('llm' as const, 'agent' as const, 'workflow' as const, 'tool' as const),
  saysTokens: fc.boolean(),
  saysCost: fc.boolean(),
});

propertyTest.prop([fc.array(node, { maxLength: 12 })])('what counts is never within what counts', (shapes) => {
  const tree: UsageNode[] = shapes.map(({ up, ...rest }, index) => ({
    ...rest,
    id: String(index),
    parentId: index === 0 ? null : String(Math.max(0, index - 1 - up)),
  }));
  const result = countedUsage(tree);
  const byId = new Map(tree.map((one) => [one.id, one]));
  for (const figure of ['tokens', 'cost'] as const) {
    const says = ({ saysTokens, saysCost }: UsageNode) => (figure === 'tokens' ? saysTokens : saysCost);
    const counts = (one: UsageNode) => says(one) && ['all', figure].includes(result.get(one.id) ?? 'none');
    const anySays = tree.some(says);
    expect(tree.some(counts)).toBe(anySays);
    for (const one of tree.filter(counts)) {
      let within = true;
      for (let child = one, up = byId.get(child.parentId ?? ''); up; child = up, up = byId.get(up.parentId ?? '')) {
        if (child.type === 'tool') within = false;
        // A call within a tool is one of its own; a sum never has a part that counts.
        if (counts(up) && (up.type !== 'llm' || within)) expect.fail(`${one.id} counts within ${up.id}`);
      }
    }
  }
});
