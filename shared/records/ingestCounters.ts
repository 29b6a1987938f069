/** Records of one project since this process started: `accepted` = `stored` + `rejected` + those under way. */
export interface IngestCounts {
  /** Handed to the writer by requests that could be read. */
  accepted: number;
  /** Acknowledged: they can be read and survive the death of the process. */
  stored: number;
  /** Answered with an error: refused, or not taken by the store. */
  rejected: number;
}

/** What became of the records of each project. */
export class IngestCounters {
  readonly #projects = new Map<string, IngestCounts>();

  of(projectId: string): Readonly<IngestCounts> {
    return this.#projects.get(projectId) ?? { accepted: 0, stored: 0, rejected: 0 };
  }

  /**
   * Counts a write of so many records, now and when it has ended.
   * @param leftOut how many of them a write that succeeded did not store
   */
  async count<T>(projectId: string, records: number, write: Promise<T>, leftOut: (result: T) => number = () => 0): Promise<T> {
    const counts = this.#projects.get(projectId) ?? { accepted: 0, stored: 0, rejected: 0 };
    this.#projects.set(projectId, counts);
    counts.accepted += records;
    try {
      const result = await write;
      const rejected = leftOut(result);
      counts.stored += records - rejected;
      counts.rejected += rejected;
      return result;
    } catch (err) {
      counts.rejected += records;
      throw err;
    }
  }
}
