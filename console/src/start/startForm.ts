import { createContext, useContext } from 'react';
import type { StartDraft } from './startDraft.ts';
import type { Chosen, Field, Problem } from './startPlan.ts';

/** The state that the parts of the form share. */
export interface StartForm {
  projectId: string;
  draft: StartDraft;
  change(changed: Partial<StartDraft>): void;
  chosen: Chosen;
  problemsAt(field: Field): readonly Problem[];
}

export const StartFormContext = createContext<StartForm | undefined>(undefined);

export function useStartForm(): StartForm {
  const form = useContext(StartFormContext);
  if (!form) throw new Error('a part of the form outside of it');
  return form;
}
