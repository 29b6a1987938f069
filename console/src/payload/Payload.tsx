import { useMemo } from 'react';
import { Conversation } from './Conversation.tsx';
import { JsonTree } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';
import { documentsOf, messagesOf } from './messages.ts';
import styles from './Payload.module.css';
import { TextOrJson } from './TextOrJson.tsx';
import { useSteps } from './useSteps.tsx';

/** An input or output as what it is: a conversation, documents, JSON, or a text. */
export function Payload({ value }: { value: unknown }) {
  const messages = useMemo(() => messagesOf(value), [value]);
  const documents = useMemo(() => documentsOf(value), [value]);
  if (value === null || value === undefined) return <p className="quiet">nothing</p>;
  if (messages) return <Conversation messages={messages} />;
  if (documents) return <Documents documents={documents} />;
  if (typeof value !== 'string') return <JsonTree value={value} />;
  return <TextOrJson text={value} />;
}

function Documents({ documents }: { documents: NonNullable<ReturnType<typeof documentsOf>> }) {
  const [shown, more] = useSteps(documents.length, { first: 50, more: 200 });
  return (
    <ol className={styles.documents}>
      {documents.slice(0, shown).map(({ content, metadata }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: documents have no ids, and their order is theirs
        <li key={index}>
          <LongText text={content} />
          {metadata !== undefined && metadata !== null && <JsonTree value={metadata} />}
        </li>
      ))}
      {more !== null && <li>{more}</li>}
    </ol>
  );
}
