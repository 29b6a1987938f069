import { hasOwnColumn, usageMetrics, WITHOUT_COST } from '../columns/systemMetrics.ts';
import type { StoredRecord } from './record.ts';

/** The figures of a span that are in the sums of its trace. */
export type Counted = 'all' | 'tokens' | 'cost' | 'none';

/** A span as the counting sees it. */
export interface UsageNode {
  id: string;
  parentId: string | null;
  type: StoredRecord['type'];
  /** It says a number of tokens, or a cost. */
  saysTokens: boolean;
  saysCost: boolean;
}

const TOKENS = 1;
const COST = 2;
/** Marks a call above that says tokens or a cost, so that what it calls is a part of it. */
const CALL_SAYS = { tokens: 1, cost: 2 };
/** Marks another span above whose tokens or cost count. */
const SUM_COUNTS = { tokens: 4, cost: 8 };
/** Marks what the spans below are: a call says tokens or a cost, there is one, there is one that is a part of this, and a span that is no call says a cost. */
const BELOW = { callTokens: 1, callCost: 2, call: 4, nestedCall: 8, otherCost: 16 };

/**
 * Decides which usage counts, so that each token and each dollar is in the sums of a trace once. By itself for tokens and for the cost:
 * - Of model calls within each other the outermost counts that says something: a client library has a span of its own below that of a framework. What a
 *   tool or a retriever does is no part of the call above it.
 * - A span of another kind counts where no call below it says anything; of several above each other the outermost does. Agents repeat the sum of
 *   their calls.
 * - A cost that is not known is missed once: by the innermost call, where no call around it says the cost.
 *
 * @returns by the ids of those that count or could: all calls, and others that say something
 */
export function countedUsage(nodes: readonly UsageNode[]): Map<string, Counted> {
  const order = topDown(nodes);
  const below = new Uint8Array(nodes.length);
  for (let at = order.length - 1; at >= 0; at--) {
    const { index, parent } = order[at] as Visit;
    if (parent === undefined) continue;
    below[parent] = (below[parent] as number) | seenFrom(nodes[index] as UsageNode, below[index] as number);
  }
  const passedOn = new Uint8Array(nodes.length);
  const counted = new Map<string, Counted>();
  for (const { index, parent } of order) {
    const node = nodes[index] as UsageNode;
    const above = parent === undefined ? 0 : (passedOn[parent] as number);
    const within = isOfItsOwn(node) ? above & ~(CALL_SAYS.tokens | CALL_SAYS.cost) : above;
    const counts =
      node.type === 'llm' ? ofCall(node, within, below[index] as number) : ofOther(node, within, below[index] as number);
    if (node.type === 'llm' || node.saysTokens || node.saysCost) counted.set(node.id, names[counts] as Counted);
    passedOn[index] = within | saidBelow(node, counts);
  }
  return counted;
}

const names: readonly Counted[] = ['none', 'tokens', 'cost', 'all'];

/** A tool or a retriever does work of its own, whatever asked for it. */
const isOfItsOwn = ({ type }: UsageNode): boolean => type === 'tool' || type === 'retriever';

function ofCall({ saysTokens, saysCost }: UsageNode, above: number, below: number): number {
  const isInnermost = (below & BELOW.nestedCall) === 0;
  const countsTokens = (saysTokens || isInnermost) && (above & (CALL_SAYS.tokens | SUM_COUNTS.tokens)) === 0;
  const countsCost = (saysCost || isInnermost) && (above & (CALL_SAYS.cost | SUM_COUNTS.cost)) === 0;
  return (countsTokens ? TOKENS : 0) | (countsCost ? COST : 0);
}

function ofOther({ saysTokens, saysCost }: UsageNode, above: number, below: number): number {
  const countsTokens = saysTokens && (below & BELOW.callTokens) === 0 && (above & (CALL_SAYS.tokens | SUM_COUNTS.tokens)) === 0;
  const isCostFree = (above & (CALL_SAYS.cost | SUM_COUNTS.cost)) === 0;
  const countsCost = saysCost
    ? isCostFree && (below & BELOW.callCost) === 0
    : isCostFree && countsTokens && (below & (BELOW.call | BELOW.otherCost)) === 0;
  return (countsTokens ? TOKENS : 0) | (countsCost ? COST : 0);
}

/** Returns what a span and those below it are to its parent. */
function seenFrom(node: UsageNode, below: number): number {
  const passed = isOfItsOwn(node) ? below & ~BELOW.nestedCall : below;
  if (node.type !== 'llm') return passed | (node.saysCost ? BELOW.otherCost : 0);
  return passed | BELOW.call | BELOW.nestedCall | (node.saysTokens ? BELOW.callTokens : 0) | (node.saysCost ? BELOW.callCost : 0);
}

function saidBelow({ type, saysTokens, saysCost }: UsageNode, counts: number): number {
  if (type === 'llm') return (saysTokens ? CALL_SAYS.tokens : 0) | (saysCost ? CALL_SAYS.cost : 0);
  return (
    (saysTokens && (counts & TOKENS) !== 0 ? SUM_COUNTS.tokens : 0) | (saysCost && (counts & COST) !== 0 ? SUM_COUNTS.cost : 0)
  );
}

interface Visit {
  index: number;
  /** Absent: none of the nodes is its parent. */
  parent: number | undefined;
}

/** Each node once, behind its parent. A loop of parents is entered anywhere. */
function topDown(nodes: readonly UsageNode[]): Visit[] {
  const indexes = new Map(nodes.map(({ id }, index) => [id, index]));
  const children = new Map<number, number[]>();
  const roots: number[] = [];
  for (const [index, { parentId }] of nodes.entries()) {
    const parent = parentId === null ? undefined : indexes.get(parentId);
    if (parent === undefined) roots.push(index);
    else {
      const siblings = children.get(parent);
      if (siblings) siblings.push(index);
      else children.set(parent, [index]);
    }
  }
  const visits: Visit[] = [];
  const seen = new Uint8Array(nodes.length);
  const visit = (root: number): void => {
    if (seen[root] === 1) return;
    seen[root] = 1;
    const from = visits.push({ index: root, parent: undefined }) - 1;
    // The list grows while it is walked.
    for (let at = from; at < visits.length; at++) {
      const { index } = visits[at] as Visit;
      for (const child of children.get(index) ?? []) {
        if (seen[child] === 1) continue;
        seen[child] = 1;
        visits.push({ index: child, parent: index });
      }
    }
  };
  for (const root of roots) visit(root);
  if (visits.length < nodes.length) for (let index = 0; index < nodes.length; index++) visit(index);
  return visits;
}

/** Returns what a span used, as its row among the members of its trace has it; undefined where it is no call and says nothing. */
export function usageOf({ type, metrics }: Pick<StoredRecord, 'type' | 'metrics'>): Record<string, number> | undefined {
  let usage: Record<string, number> | undefined = type === 'llm' ? {} : undefined;
  for (const name in metrics) {
    const value = metrics[name];
    if (!ofUsage.has(name) || !hasOwnColumn(name, value)) continue;
    usage ??= {};
    usage[name] = value;
  }
  if (usage) usage[WITHOUT_COST] = usage.cost === undefined ? 1 : 0;
  return usage;
}

const ofUsage: ReadonlySet<string> = new Set(usageMetrics);

/** Returns what the counting needs of a span, from its `usageOf`. Zeros alone say nothing of a model call: its library did not hear what it used. */
export function usageNode(
  { id, type, parent_id }: Pick<StoredRecord, 'id' | 'type'> & { parent_id?: string | null | undefined },
  usage: Readonly<Record<string, number>> = {},
): UsageNode {
  let saysTokens = false;
  for (const name in usage)
    if (name !== 'cost' && name !== WITHOUT_COST && (type !== 'llm' || usage[name] !== 0)) saysTokens = true;
  const saysCost = 'cost' in usage && (type !== 'llm' || usage.cost !== 0 || saysTokens);
  return { id, parentId: parent_id ?? null, type, saysTokens, saysCost };
}

/** Returns the usage of a span that counts. Where nothing says it, as former releases stored it, all usage of calls does, and of no other span. */
export const countedOf = ({
  type,
  counted_usage,
}: Pick<StoredRecord, 'type'> & { counted_usage?: string | null | undefined }): Counted =>
  (counted_usage as Counted | null | undefined) ?? (type === 'llm' ? 'all' : 'none');
