import type { GateResult } from '../../client/index.ts';

export const gateWords: Record<GateResult['status'], string> = {
  passed: 'passed',
  failed: 'failed',
  undecided: 'not enough rows',
};

/** Returns which code an experiment ran, as far as its tags say. */
export const shownTags = ({ tags }: GateResult['experiment']): string[] =>
  ['branch', 'commit', 'dirty'].flatMap((key) =>
    tags[key] && tags[key] !== 'false' ? [`${key} ${tags[key].slice(0, 40)}`] : [],
  );
