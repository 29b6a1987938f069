/** The part of a record that writers change, as a search answers it. */
export interface FoundRecord {
  id: string;
  output: unknown;
  tags: string[];
  metrics: Record<string, unknown>;
}

/** The fields that one write sets. `tags` are added to those that are there. */
export interface WrittenFields {
  output: string;
  tag?: string;
  score?: number;
}

/**
 * One record as its writes make it, one after another. A write without an answer may have been carried out or not, so a field can have several values
 * until the next write that was answered.
 */
export class FoldedRecord {
  readonly kind: 'trace' | 'span';
  readonly traceId: string;
  #presence: 'there' | 'gone' | 'unknown';
  #outputs: Set<unknown>;
  #scores = new Set<unknown>([undefined]);
  /** True when the tag is surely there. */
  readonly #tags = new Map<string, boolean>();

  constructor(kind: FoldedRecord['kind'], traceId: string, output: string, isAcknowledged: boolean) {
    this.kind = kind;
    this.traceId = traceId;
    this.#outputs = new Set([output]);
    this.#presence = isAcknowledged ? 'there' : 'unknown';
  }

  get presence() {
    return this.#presence;
  }

  update({ output, tag, score }: WrittenFields, isAcknowledged: boolean): void {
    if (isAcknowledged) this.#outputs.clear();
    this.#outputs.add(output);
    if (tag !== undefined) this.#tags.set(tag, isAcknowledged || this.#tags.get(tag) === true);
    if (score === undefined) return;
    if (isAcknowledged) this.#scores.clear();
    this.#scores.add(score);
  }

  delete(isAcknowledged: boolean): void {
    this.#presence = isAcknowledged ? 'gone' : 'unknown';
  }

  /** Says what is wrong with what was found; undefined where it is one of the things that the writes may have made. */
  fault(found: FoundRecord | undefined): string | undefined {
    if (!found) return this.#presence === 'there' ? 'is lost' : undefined;
    if (this.#presence === 'gone') return 'has come back';
    if (!this.#outputs.has(found.output)) return `has the output ${found.output}, not ${[...this.#outputs].join(' or ')}`;
    if (!this.#scores.has(found.metrics.score))
      return `has the score ${found.metrics.score}, not ${[...this.#scores].join(' or ')}`;
    const strange = found.tags.find((tag) => !this.#tags.has(tag));
    if (strange !== undefined) return `has the tag ${strange}, which was never set`;
    const missing = [...this.#tags].find(([tag, isSure]) => isSure && !found.tags.includes(tag));
    return missing && `has lost the tag ${missing[0]}`;
  }
}
