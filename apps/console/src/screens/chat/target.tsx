import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { Choice, TextField } from '../../parts/fields.js';
import { useCaller } from '../../session/session.js';

/** Whom a message is for: a definition or an agent. */
export interface Talk {
  readonly definition: string | undefined;
  readonly agent: string | undefined;
}

const NOBODY: Talk = { definition: undefined, agent: undefined };
const SUGGESTED = 12;

export function useDefinitionNames() {
  const { api, may } = useCaller();
  return useQuery({
    queryKey: ['definitions', 'names'],
    enabled: may('definitions:read'),
    queryFn: async ({ signal }) =>
      (await api.definitions.list({ limit: 200 }, { signal }).page()).items.map(({ name }) => name),
  });
}

interface TargetProps {
  talk: Talk;
  onChange: (talk: Talk) => void;
}

/** A change begins a new conversation: each agent knows only its own runs. */
export function Target({ talk, onChange }: TargetProps): ReactNode {
  const { api } = useCaller();
  const listId = useId();
  const isAgent = talk.agent !== undefined;
  const definitions = useDefinitionNames();
  const named = talk.agent ?? '';
  const agents = useQuery({
    queryKey: ['agents', 'names', named, SUGGESTED],
    enabled: isAgent,
    queryFn: async ({ signal }) =>
      (await api.agents.list({ ...(named !== '' && { q: named }), limit: SUGGESTED }, { signal }).page()).items.map(
        ({ agentId }) => agentId,
      ),
  });
  const names = definitions.data ?? [];
  return (
    <div className="target">
      <span className="segments" role="group" aria-label="Talk to">
        <button type="button" aria-pressed={!isAgent} onClick={() => onChange(NOBODY)}>
          Definition
        </button>
        <button type="button" aria-pressed={isAgent} onClick={() => onChange({ ...NOBODY, agent: '' })}>
          Agent
        </button>
      </span>
      {isAgent ? (
        <>
          <TextField
            label="Agent"
            type="search"
            placeholder="agentId"
            list={listId}
            value={named}
            show={(name) => name}
            read={(text) => text.trim()}
            onChange={(agent) => onChange({ ...NOBODY, agent })}
          />
          <datalist id={listId}>
            {(agents.data ?? []).map((agentId) => (
              <option key={agentId} value={agentId} />
            ))}
          </datalist>
        </>
      ) : (
        <Choice
          label="Definition"
          value={talk.definition ?? ''}
          choices={names}
          placeholder={names.length === 0 ? 'There is no definition' : 'Choose a definition'}
          onChange={(definition) => onChange({ ...NOBODY, definition })}
        />
      )}
    </div>
  );
}
