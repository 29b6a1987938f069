import { Link } from '@tanstack/react-router';
import { CopyButton } from '../parts/CopyButton.tsx';
import { SettingsFields } from '../prompt/SettingsFields.tsx';
import { CallFigures } from './CallFigures.tsx';
import { CallNotes, Failure } from './CallNotes.tsx';
import { type Call, isUnderWay, outputOf, stop, useCall } from './calls.ts';
import type { Column } from './draft.ts';
import { Output } from './Output.tsx';
import styles from './Playground.module.css';

interface Props {
  column: Column;
  index: number;
  projectId: string;
  /** Id of the list of the names of models. */
  modelsId: string;
  /** True while its call asked what the page has now. */
  isAsked: boolean;
  onSettings(settings: Record<string, unknown>): void;
  /** Undefined for the only one. */
  onRemove: (() => void) | undefined;
}

/** One model with its settings, and what it says. */
export function ModelColumn({ column, index, projectId, modelsId, isAsked, onSettings, onRemove }: Props) {
  const call = useCall(column.id);
  const isRunning = isUnderWay(call);
  return (
    <section className={styles.column} aria-label={columnName(column, index)}>
      <fieldset className={styles.settings}>
        <legend className="only-read">Settings of model {index + 1}</legend>
        <SettingsFields settings={column.settings} onChange={onSettings} models={modelsId} />
      </fieldset>
      <div className={styles.state}>
        <span role="status" data-state={call?.state}>
          {call ? `${states[call.state]}${isRunning || isAsked ? '' : ', before the last change'}` : 'Not run yet'}
        </span>
        {isRunning && (
          <button type="button" onClick={() => stop(column.id)}>
            Stop
          </button>
        )}
        {call && !isRunning && outputOf(call) !== '' && <CopyButton label="Copy" text={() => outputOf(call)} />}
        {onRemove && (
          <button type="button" className="plain" aria-label={`Remove model ${index + 1}`} onClick={onRemove}>
            Remove
          </button>
        )}
      </div>
      {call && (
        <>
          <CallFigures outcome={call.outcome} />
          <CallNotes call={call} />
          <Output label={`Answer of model ${index + 1}`} call={call} />
          <Failure call={call} />
          {!isRunning && call.started && call.outcome?.is_recorded !== false && (
            <Link
              to="/p/$projectId/traces/$traceId"
              params={{ projectId, traceId: call.started.trace_id }}
              search={{ span: call.started.span_id }}
            >
              Its trace
            </Link>
          )}
        </>
      )}
    </section>
  );
}

export const columnName = ({ settings }: Column, index: number): string =>
  `Model ${index + 1}${settings.model_alias ? `, ${String(settings.model_alias)}` : ''}`;

const states = {
  waiting: 'Waits …',
  writing: 'Writes …',
  completed: 'Finished',
  failed: 'Failed',
  stopped: 'Stopped',
} as const satisfies Record<Call['state'], string>;
