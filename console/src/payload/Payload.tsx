import { Conversation } from './Conversation.tsx';
import { JsonTree } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';
import { documentsOf, messagesOf } from './messages.ts';
import styles from './Payload.module.css';
import { TextOrJson } from './TextOrJson.tsx';

/** An input or output as what it is: a conversation, documents, JSON, or a text. */
export function Payload({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <p className="quiet">nothing</p>;
  const messages = messagesOf(value);
  if (messages) return <Conversation messages={messages} />;
  const documents = documentsOf(value);
  if (documents)
    return (
      <ol className={styles.documents}>
        {documents.map(({ content, metadata }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: documents have no ids, and their order is theirs
          <li key={index}>
            <LongText text={content} />
            {metadata !== undefined && metadata !== null && <JsonTree value={metadata} />}
          </li>
        ))}
      </ol>
    );
  if (typeof value !== 'string') return <JsonTree value={value} />;
  return <TextOrJson text={value} />;
}
