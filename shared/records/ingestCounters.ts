/** Records of one project since this process started: `accepted` = `stored` + `held` + `rejected` + those under way. */
export interface IngestCounts {
  /** Records of requests that could be read. */
  accepted: number;
  /** Acknowledged: they can be read and survive the death of the process. */
  stored: number;
  /** Acknowledged updates of records that had not come; nothing counts them again when they are applied. */
  held: number;
  /** Held updates that were dropped: to make room for others, or since their records had not come within a day. */
  dropped: number;
  /** Answered with an error: refused, or not taken by the store. */
  rejected: number;
}

/** Counts the records of each project by their outcome. */
export class IngestCounters {
  readonly #projects = new Map<string, IngestCounts>();

  of(projectId: string): Readonly<IngestCounts> {
    return this.#projects.get(projectId) ?? none();
  }

  /** Counts records that are not handed to the writer: nothing of them can be stored. */
  refuse(projectId: string, records: number): void {
    const counts = this.#countsOf(projectId);
    counts.accepted += records;
    counts.rejected += records;
  }

  /** Counts held updates that were dropped. */
  drop(projectId: string, updates: number): void {
    if (updates > 0) this.#countsOf(projectId).dropped += updates;
  }

  #countsOf(projectId: string): IngestCounts {
    const counts = this.#projects.get(projectId) ?? none();
    this.#projects.set(projectId, counts);
    return counts;
  }

  /**
   * Counts a write of so many records, now and when it has ended.
   * @param notStored how many of them a write that succeeded held or left out
   */
  async count<T>(
    projectId: string,
    records: number,
    write: Promise<T>,
    notStored: (result: T) => Pick<IngestCounts, 'held' | 'rejected'>,
  ): Promise<T> {
    const counts = this.#countsOf(projectId);
    counts.accepted += records;
    try {
      const result = await write;
      const { held, rejected } = notStored(result);
      counts.stored += records - held - rejected;
      counts.held += held;
      counts.rejected += rejected;
      return result;
    } catch (err) {
      counts.rejected += records;
      throw err;
    }
  }
}

const none = (): IngestCounts => ({ accepted: 0, stored: 0, held: 0, dropped: 0, rejected: 0 });
