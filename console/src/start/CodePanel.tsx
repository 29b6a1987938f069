import { useState } from 'react';
import { home } from '../address/home.ts';
import { CopyButton } from '../parts/CopyButton.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import styles from './StartPage.module.css';
import { clientCode, commandLines } from './startCode.ts';
import type { Plan } from './startPlan.ts';

type Form = 'code' | 'command';

/** The same run as a program and as a command, to copy. */
export function CodePanel({ plan, projectId }: { plan: Plan; projectId: string }) {
  const [form, setForm] = useState<Form>('code');
  const write = form === 'code' ? clientCode : commandLines;
  const text = write(plan.options, { api: home.api, projectId });
  return (
    <section className={styles.code} aria-label="The same run elsewhere">
      <h2>The same run as</h2>
      <Tabs
        label="Form of the run"
        tabs={[
          ['code', 'TypeScript'],
          ['command', 'Command line'],
        ]}
        chosen={form}
        onChoose={(next) => setForm(next === 'command' ? 'command' : 'code')}
      >
        <div className={styles.copied}>
          <CopyButton label={form === 'code' ? 'Copy the code' : 'Copy the command'} text={() => text} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls long lines */}
          <pre tabIndex={0}>{text}</pre>
        </div>
      </Tabs>
    </section>
  );
}
