import type { ReactNode } from 'react';
import { plain } from '../../parts/format.js';
import type { Draft } from './draft.js';

interface EditorProps {
  draft: Draft;
  isReadOnly: boolean;
  onChange: (draft: Draft) => void;
}

/** Foreign text is shown without characters that change its direction; what is edited stays as it is. */
const shown = (text: string, isReadOnly: boolean): string => (isReadOnly ? plain(text) : text);

export function Editor({ draft, isReadOnly, onChange }: EditorProps): ReactNode {
  const rows = (text: string, least: number, most: number): number =>
    Math.min(most, Math.max(least, text.split('\n').length + 1));
  return (
    <div className="padded editor">
      <label>
        Description
        <small>what the agent is for; callers and delegating agents read it</small>
        <textarea
          className="field"
          rows={rows(draft.description, 2, 6)}
          value={shown(draft.description, isReadOnly)}
          readOnly={isReadOnly}
          onChange={({ target }) => onChange({ ...draft, description: target.value })}
        />
      </label>
      <label>
        Instructions
        <small>the system prompt</small>
        <textarea
          className="field"
          rows={rows(draft.instructions, 6, 24)}
          value={shown(draft.instructions, isReadOnly)}
          readOnly={isReadOnly}
          onChange={({ target }) => onChange({ ...draft, instructions: target.value })}
        />
      </label>
      <label>
        Settings
        <small>model, tools, skills, limits and budget, as JSON</small>
        <textarea
          className="field mono"
          rows={rows(draft.others, 8, 24)}
          value={shown(draft.others, isReadOnly)}
          readOnly={isReadOnly}
          spellCheck={false}
          onChange={({ target }) => onChange({ ...draft, others: target.value })}
        />
      </label>
    </div>
  );
}
