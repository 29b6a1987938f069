import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import type { SearchAttribute } from '../shared/experiments/workflow.ts';

/** The first release registered these attributes, and its workflows may set them. */
const first: readonly SearchAttribute[] = ['AssayProject', 'AssayExperiment', 'AssayGroup', 'AssayStatus'];

export const keyword = (name: SearchAttribute) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
export const integer = (name: SearchAttribute) => defineSearchAttributeKey(name, SearchAttributeType.INT);
export const double = (name: SearchAttribute) => defineSearchAttributeKey(name, SearchAttributeType.DOUBLE);

/** Sets search attributes, as far as the namespace has them: a task that sets another fails, again and again. */
export class KnownAttributes {
  private readonly known: ReadonlySet<string>;

  constructor(known: readonly SearchAttribute[] = first) {
    this.known = new Set(known);
  }

  upsert(pairs: readonly SearchAttributeUpdatePair[]): void {
    const known = pairs.filter(({ key }) => this.known.has(key.name));
    if (known.length > 0) upsertSearchAttributes(known);
  }
}
