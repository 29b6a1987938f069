import { memo } from 'react';
import type { Call } from './calls.ts';
import type { GrowingText } from './growingText.ts';
import styles from './Playground.module.css';

/** Shows a model's answer as it comes. Words are added at the end; the text before stays as it is. */
export function Output({ label, call: { text, reasoning, toolCalls, state } }: { label: string; call: Call }) {
  const isEmpty = !hasText(text) && !hasText(reasoning) && toolCalls.length === 0;
  if (isEmpty && state !== 'completed') return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long answer is scrolled by keys
    <section className={styles.output} tabIndex={0} aria-label={label} aria-busy={state === 'writing'}>
      {hasText(reasoning) && (
        <details>
          <summary>What it thought</summary>
          <Growing text={reasoning} />
        </details>
      )}
      {hasText(text) && <Growing text={text} />}
      {toolCalls.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the model numbers its calls
        <pre key={index} className={styles.toolCall}>
          {one.name}({one.arguments})
        </pre>
      ))}
      {state === 'completed' && !hasText(text) && toolCalls.length === 0 && <p className="quiet">An empty answer.</p>}
    </section>
  );
}

const hasText = ({ blocks, tail }: GrowingText): boolean => blocks.length > 0 || tail !== '';

function Growing({ text: { blocks, tail } }: { text: GrowingText }) {
  return (
    <div>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks never change, and more come behind them
        <Block key={index} text={block} />
      ))}
      <pre>{tail}</pre>
    </div>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  return <pre>{text}</pre>;
});
