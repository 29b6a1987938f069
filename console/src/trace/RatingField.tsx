import { type KeyboardEvent, useId } from 'react';
import type { Rating, Template } from '../data/annotations.ts';
import styles from './Annotations.module.css';
import { type Draft, Typed } from './Typed.tsx';

interface Props {
  draft: Draft;
  constraints: Template['constraints'];
  value: Rating['value'] | undefined;
  /** Undefined takes the answer back. */
  onRate(value: Rating['value'] | undefined): void;
}

/** The control that a question is answered by, of the kind that its template says. All are the browser's own, so keys work as everywhere. */
export function RatingField({ draft, constraints, value, onRate }: Props) {
  switch (constraints.annotation_type) {
    case 'like_dislike':
      return (
        <Options
          options={[
            ['true', '👍 Yes'],
            ['false', '👎 No'],
          ]}
          value={String(value)}
          onRate={(it) => onRate(it === undefined ? it : it === 'true')}
        />
      );
    case 'star':
      return (
        <Options
          options={['1', '2', '3', '4', '5'].map((one) => [one, `${one} ★`])}
          value={String(value)}
          onRate={(it) => onRate(it === undefined ? it : Number(it))}
        />
      );
    case 'choice':
      return (
        <Options
          options={constraints.choices.map((one) => [one, one])}
          value={String(value)}
          onRate={onRate}
          other={constraints.allow_other ? draft : undefined}
        />
      );
    case 'tree_choice':
      return (
        <select aria-label="Answer" value={String(value ?? '')} onChange={(event) => onRate(event.target.value || undefined)}>
          <option value="">–</option>
          {pathsOf(constraints.choices_tree).map(([id, label]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      );
    case 'tags':
      return (
        <Tags
          tags={constraints.tags}
          chosen={Array.isArray(value) ? value : []}
          onRate={onRate}
          other={constraints.allow_other}
        />
      );
    case 'score':
      return (
        <Typed
          draft={draft}
          kind="number"
          min={constraints.min}
          max={constraints.max}
          value={value}
          onRate={(text) => onRate(text === '' ? undefined : Number(text))}
        />
      );
    case 'text':
      return <Typed draft={draft} kind="text" value={value} onRate={(text) => onRate(text === '' ? undefined : text)} />;
    default:
      return constraints satisfies never;
  }
}

interface OptionsProps {
  options: readonly (readonly [value: string, label: string])[];
  value: string;
  onRate(value: string | undefined): void;
  /** Undefined: there is no other than these. */
  other?: Draft | undefined;
}

/** One of a few. A digit chooses while one of them has the focus. */
function Options({ options, value, onRate, other }: OptionsProps) {
  const name = useId();
  const isOther = value !== 'undefined' && !options.some(([one]) => one === value);
  return (
    <div
      role="radiogroup"
      aria-label="Answer"
      className={styles.options}
      onKeyDown={(event) => {
        const chosen = (event.target as HTMLElement).matches('[type=radio]') ? options[Number(event.key) - 1] : undefined;
        if (!chosen) return;
        event.preventDefault();
        onRate(chosen[0]);
      }}
    >
      {options.map(([one, label]) => (
        <label key={one}>
          <input type="radio" name={name} checked={value === one} onChange={() => onRate(one)} />
          {label}
        </label>
      ))}
      {other && (
        <Typed
          draft={{ key: other.key, over: isOther ? other.over : '' }}
          kind="text"
          placeholder="Another"
          value={isOther ? value : undefined}
          onRate={(text) => onRate(text || undefined)}
        />
      )}
    </div>
  );
}

/** Some of a few. A digit chooses one, or takes it back, while one of them has the focus. */
function Tags({
  tags,
  chosen,
  onRate,
  other,
}: {
  tags: readonly string[];
  chosen: readonly string[];
  onRate(value: string[] | undefined): void;
  other: boolean;
}) {
  const set = (next: string[]) => onRate(next.length > 0 ? next : undefined);
  const toggle = (tag: string) => set(chosen.includes(tag) ? chosen.filter((one) => one !== tag) : [...chosen, tag]);
  const all = [...new Set([...tags, ...chosen])];
  const onKeyDown = (event: KeyboardEvent) => {
    const tag = (event.target as HTMLElement).matches('[type=checkbox]') ? all[Number(event.key) - 1] : undefined;
    if (tag === undefined) return;
    event.preventDefault();
    toggle(tag);
  };
  return (
    <div role="group" aria-label="Answer" className={styles.options} onKeyDown={onKeyDown}>
      {all.map((tag) => (
        <label key={tag}>
          <input type="checkbox" checked={chosen.includes(tag)} onChange={() => toggle(tag)} />
          {tag}
        </label>
      ))}
      {other && (
        <Typed kind="text" placeholder="Another" value={undefined} onRate={(text) => text !== '' && set([...chosen, text])} />
      )}
    </div>
  );
}

type Node = Extract<Template['constraints'], { annotation_type: 'tree_choice' }>['choices_tree'][number];

/** Every node of a tree: its id, and its label behind those above it. */
export const pathsOf = (nodes: readonly Node[], above = ''): [id: string, label: string][] =>
  nodes.flatMap(({ id, label, children }) => [
    [id, `${above}${label}`] as [string, string],
    ...pathsOf(children, `${above}${label} › `),
  ]);
