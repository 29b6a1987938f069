import type { RatingValue } from '../annotations/summarize.ts';
import { cohensKappa, type Kappa, quadratic } from '../statistics/cohensKappa.ts';
import type { SharedLabels } from './sharedLabels.ts';

/** A record with what the judge said of it, if it did, and what people said by one template. */
export interface TwoSides {
  recordId: string;
  /** Undefined where there is no value. */
  judge: unknown;
  people: readonly RatingValue[];
}

export interface Disagreement {
  recordId: string;
  judge: string;
  people: string;
}

export interface SidesCompared extends Kappa {
  labels: string[];
  /** How many records the judge gives label i and people label j. */
  table: number[][];
  weighted: Kappa | null;
  /** Why kappa is null. */
  reason: string | null;
  judgeOnly: number;
  peopleOnly: number;
  /** Records of which people are of two minds. */
  undecided: number;
  /** Records with both sides, where what one of them says is no label. */
  unreadable: number;
  disagreements: Disagreement[];
}

/** Labels of a table at most: more of them are texts, and no categories. */
export const MOST_LABELS = 50;
const SHOWN_DISAGREEMENTS = 100;

/** The agreement of a judge with people, over records. People have one label for a record: that of most of them, of ordered labels the middle one. */
export function compareSides(shared: SharedLabels, records: Iterable<TwoSides>): SidesCompared {
  const positions = new Map(shared.labels.map((label, index) => [label, index]));
  const positionOf = (label: string): number => {
    const known = positions.get(label);
    if (known !== undefined) return known;
    positions.set(label, positions.size);
    return positions.size - 1;
  };
  const counts = { judgeOnly: 0, peopleOnly: 0, undecided: 0, unreadable: 0 };
  const pairs: [judge: number, people: number][] = [];
  const disagreements: Disagreement[] = [];
  for (const { recordId, judge, people } of records) {
    if (judge === undefined && people.length === 0) continue;
    if (judge === undefined) counts.peopleOnly++;
    else if (people.length === 0) counts.judgeOnly++;
    else {
      const said = shared.ofJudge(judge);
      const rated = people.flatMap((rating) => shared.ofPeople(rating) ?? []);
      if (said === undefined || rated.length === 0) {
        counts.unreadable++;
        continue;
      }
      const decided = shared.isOrdered ? middle(rated.map(positionOf)) : most(rated.map(positionOf));
      if (decided === undefined) {
        counts.undecided++;
        continue;
      }
      const position = positionOf(said);
      pairs.push([position, decided]);
      if (position !== decided && disagreements.length < SHOWN_DISAGREEMENTS)
        disagreements.push({ recordId, judge: said, people: [...positions.keys()][decided] as string });
    }
  }
  const labels = [...positions.keys()];
  if (labels.length > MOST_LABELS) {
    const none = { pairs: pairs.length, observed: null, expected: null, kappa: null, standardError: null, interval: null };
    const reason = `there are ${labels.length} labels, more than ${MOST_LABELS}: these are texts, and no categories`;
    return { ...none, labels: [], table: [], weighted: null, reason, ...counts, disagreements };
  }
  const table = labels.map(() => labels.map(() => 0));
  for (const [judge, people] of pairs) (table[judge] as number[])[people] = ((table[judge] as number[])[people] as number) + 1;
  const kappa = cohensKappa(table);
  return {
    ...kappa,
    labels,
    table,
    weighted: shared.isOrdered ? cohensKappa(table, quadratic) : null,
    reason: kappa.kappa === null ? reasonOf(table, labels) : null,
    ...counts,
    disagreements,
  };
}

function reasonOf(table: readonly (readonly number[])[], labels: readonly string[]): string {
  const byJudge = labels.filter((_, row) => table[row]?.some((count) => count > 0));
  const byPeople = labels.filter((_, column) => table.some((row) => (row[column] ?? 0) > 0));
  if (byJudge.length === 0) return 'no record has a label of the judge and one of people';
  const one = byJudge.length === 1 ? ['the judge', byJudge[0]] : ['people', byPeople[0]];
  const both = byJudge.length === 1 && byPeople.length === 1;
  const who = both && byJudge[0] === byPeople[0] ? ['both sides', byJudge[0]] : one;
  return `${who[0]} gave one label alone, ${JSON.stringify(who[1])}: how far they agree beyond chance cannot be said`;
}

/** The most frequent; undefined where two are equally frequent. */
function most(positions: readonly number[]): number | undefined {
  const [first, second] = [...Map.groupBy(positions, (position) => position)].sort(([, a], [, b]) => b.length - a.length);
  return first && second?.[1].length !== first[1].length ? first[0] : undefined;
}

/** The one in the middle; of an even number undefined where the two in the middle are not the same. */
function middle(positions: readonly number[]): number | undefined {
  const sorted = positions.toSorted((one, other) => one - other);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === high ? low : undefined;
}
