import type { ReactNode } from 'react';
import type { FieldChangeView } from '#rollcall/client';
import { plain } from '../../parts/format.js';
import { lineChanges, fieldText } from './definition-words.js';

const SIGNS = { same: ' ', removed: '−', added: '+' } as const;
const ELEMENTS = { same: 'span', removed: 'del', added: 'ins' } as const;

/** The fields that differ, each with its removed and added lines. */
export function Changes({ changes }: { changes: readonly FieldChangeView[] }): ReactNode {
  return (
    <dl className="changes">
      {changes.map(({ field, before, after }) => (
        <div key={field}>
          <dt className="mono">{plain(field)}</dt>
          <dd>
            <pre tabIndex={0} aria-label={`Changes of ${plain(field)}`}>
              {lineChanges(fieldText(before), fieldText(after)).map(({ kind, text }, index) => {
                const Line = ELEMENTS[kind];
                return (
                  <Line key={index} className={`line ${kind}`}>
                    {SIGNS[kind]} {plain(text)}
                  </Line>
                );
              })}
            </pre>
          </dd>
        </div>
      ))}
    </dl>
  );
}
