import { Autocomplete } from '@base-ui/react/autocomplete';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue, useState } from 'react';
import type { AgentView } from '#rollcall/client';
import { plain } from '../parts/format.js';
import { standing } from '../screens/agent-words.js';
import { stateText } from '../screens/runs.js';
import { session, useCaller, useSession } from '../session/session.js';
import { NAVIGATION } from './navigation.js';
import { nextTheme } from './theme.js';

interface Entry {
  readonly id: string;
  readonly label: string;
  /** What it is, or how it is. */
  readonly hint: string;
  run(): void;
}

interface EntryGroup {
  readonly value: string;
  readonly items: readonly Entry[];
}

const MOST = 6;
const RECENT_RUNS = 50;
const RUN_ID = /^[\da-f]{32}$/;

/** Finds screens, agents, runs, definitions and actions. An action opens its dialog on the page of its object. */
export default function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const [text, setText] = useState('');
  const groups = useEntries(useDeferredValue(text.trim()));
  return (
    <Autocomplete.Root
      open
      inline
      mode="none"
      items={groups}
      value={text}
      onValueChange={(next, { reason }) => {
        if (reason !== 'item-press') setText(next);
      }}
      itemToStringValue={({ label }: Entry) => label}
      autoHighlight="always"
      keepHighlight
    >
      <Autocomplete.Input
        className="palette-input"
        aria-label="Find an agent, a run, a definition or an action"
        placeholder="Agent, run, definition or action"
      />
      <div className="palette-list">
        <Autocomplete.Empty className="palette-empty">Nothing has this name.</Autocomplete.Empty>
        <Autocomplete.List>
          {(group: EntryGroup) => (
            <Autocomplete.Group key={group.value} items={group.items}>
              <Autocomplete.GroupLabel className="palette-group">{group.value}</Autocomplete.GroupLabel>
              <Autocomplete.Collection>
                {(entry: Entry) => (
                  <Autocomplete.Item
                    key={entry.id}
                    value={entry}
                    className="menu-item palette-item"
                    onClick={() => {
                      onClose();
                      entry.run();
                    }}
                  >
                    <span>{entry.label}</span>
                    <small>{entry.hint}</small>
                  </Autocomplete.Item>
                )}
              </Autocomplete.Collection>
            </Autocomplete.Group>
          )}
        </Autocomplete.List>
      </div>
    </Autocomplete.Root>
  );
}

function useEntries(text: string): EntryGroup[] {
  const agents = useAgents(text);
  const groups: EntryGroup[] = [
    { value: 'Screens', items: useScreens(text) },
    { value: 'Agents', items: useAgentEntries(agents) },
    { value: 'Definitions', items: useDefinitions(text) },
    { value: 'Runs', items: useRuns(text) },
    { value: 'Actions', items: useActions(text, agents) },
  ];
  return groups.filter(({ items }) => items.length > 0);
}

const has = (name: string, text: string): boolean => name.toLowerCase().includes(text.toLowerCase());

function useScreens(text: string): Entry[] {
  const { may } = useCaller();
  const navigate = useNavigate();
  return NAVIGATION.flatMap(({ items, title = 'screen' }) =>
    items
      .filter(({ needs, label }) => may(needs) && has(label, text))
      .map(({ to, label }) => ({ id: `screen ${to}`, label, hint: title, run: () => void navigate({ to }) })),
  );
}

function useAgents(text: string): readonly AgentView[] {
  const { api, may } = useCaller();
  const name = text.replace(/^(drain|quarantine|resume|evict)\s+/i, '');
  const { data } = useQuery({
    queryKey: ['agents', 'palette', name],
    enabled: may('agents:read') && name !== '',
    queryFn: async ({ signal }) => (await api.agents.list({ q: name, limit: MOST }, { signal }).page()).items,
    placeholderData: keepPreviousData,
  });
  return name === '' ? [] : (data ?? []);
}

function useAgentEntries(agents: readonly AgentView[]): Entry[] {
  const navigate = useNavigate();
  return agents.map((agent) => ({
    id: `agent ${agent.agentId}`,
    label: plain(agent.agentId),
    hint: standing(agent).word,
    run: () => void navigate({ to: '/agents/$agentId', params: { agentId: agent.agentId } }),
  }));
}

function useDefinitions(text: string): Entry[] {
  const { api, may } = useCaller();
  const navigate = useNavigate();
  const { data } = useQuery({
    queryKey: ['definitions', 'names'],
    enabled: may('definitions:read') && text !== '',
    queryFn: async ({ signal }) =>
      (await api.definitions.list({ limit: 200 }, { signal }).page()).items.map(({ name }) => name),
  });
  const found = text === '' ? [] : (data ?? []).filter((name) => has(name, text)).slice(0, MOST);
  const pages = found.map((name) => ({
    id: `definition ${name}`,
    label: plain(name),
    hint: 'definition',
    run: () => void navigate({ to: '/definitions/$name', params: { name } }),
  }));
  const talks = found.map((name) => ({
    id: `try ${name}`,
    label: `Talk to ${plain(name)}`,
    hint: 'try it',
    run: () => void navigate({ to: '/try', search: { definition: name } }),
  }));
  return may('runs:start') ? [...pages, ...talks] : pages;
}

/** The last runs by the beginning of their id, their agent or their input, and any run by its whole id. */
function useRuns(text: string): Entry[] {
  const { api, may } = useCaller();
  const navigate = useNavigate();
  const { data } = useQuery({
    queryKey: ['runs', 'palette'],
    enabled: may('runs:read') && text !== '',
    queryFn: async ({ signal }) => (await api.runs.list({ limit: RECENT_RUNS }, { signal }).page()).items,
  });
  const open = (runId: string) => (): void => void navigate({ to: '/runs/$runId', params: { runId } });
  if (text === '') return [];
  const recent = (data ?? []).filter(
    ({ id, agentId, inputPreview }) => id.startsWith(text) || has(agentId, text) || has(inputPreview.text, text),
  );
  const entries = recent.slice(0, MOST).map((run) => ({
    id: `run ${run.id}`,
    label: plain(`${run.agentId}: ${run.inputPreview.text.slice(0, 60)}`),
    hint: `${stateText(run)}, ${run.id.slice(0, 8)}`,
    run: open(run.id),
  }));
  const isOther = RUN_ID.test(text) && recent.length === 0;
  return isOther ? [{ id: `run ${text}`, label: text, hint: 'run', run: open(text) }] : entries;
}

/** What changes an agent opens the dialog of its page. */
function useActions(text: string, agents: readonly AgentView[]): Entry[] {
  const { may } = useCaller();
  const { token } = useSession();
  const navigate = useNavigate();
  const onAgent = (agent: AgentView, verb: string): Entry => ({
    id: `${verb} ${agent.agentId}`,
    label: `${verb} ${plain(agent.agentId)}…`,
    hint: standing(agent).word,
    run: () =>
      void navigate({ to: '/agents/$agentId', params: { agentId: agent.agentId }, state: { open: `${verb}…` } }),
  });
  const first = agents.slice(0, 2);
  const changes = may('agents:operate')
    ? first.flatMap((agent) => verbsFor(agent).map((verb) => onAgent(agent, verb)))
    : [];
  const questions = may('agents:query')
    ? first.map(({ agentId, capabilities }) => ({
        id: `picked ${agentId}`,
        label: `Would ${plain(agentId)} be picked?`,
        hint: 'who is picked?',
        run: () => void navigate({ to: '/who', search: { query: { capabilities }, about: agentId } }),
      }))
    : [];
  const ofAgents = [...changes, ...questions];
  const others: Entry[] = [
    { id: 'colours', label: 'Change the colours', hint: 'light, dark or as the system', run: () => void nextTheme() },
    ...(token === undefined
      ? []
      : [{ id: 'sign out', label: 'Sign out', hint: 'ends the session', run: () => void session.signOut() }]),
  ];
  const verb = /^(drain|quarantine|resume|evict)\b/i.exec(text)?.[1];
  const chosen = verb === undefined ? ofAgents : ofAgents.filter(({ label }) => has(label, verb));
  return [...chosen, ...others.filter(({ label }) => has(label, text))];
}

/** The verbs of the page of the agent, in its state. */
function verbsFor({ status, desiredState }: AgentView): string[] {
  return [
    ...(desiredState === 'active' && status !== 'left' ? ['Drain'] : []),
    ...(desiredState === 'active' ? [] : ['Resume']),
    ...(desiredState === 'quarantined' ? [] : ['Quarantine']),
    ...(status === 'left' ? [] : ['Evict']),
  ];
}
