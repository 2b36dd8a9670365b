import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { type ConversationView, isFinished, RollcallError } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { Commands } from '../../parts/commands.js';
import { count, money, plain } from '../../parts/format.js';
import { Fact, useTitle } from '../../parts/parts.js';
import { Empty, Loaded, Problem } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { Earlier } from './earlier.js';
import { Bubble, Turn } from './turn.js';
import { type Talk, Target, useDefinitionNames } from './target.js';

const PAGE = 10;

/** A conversation with an agent or a definition: what is said, the calls of tools, and what each answer costs. */
export function TryIt(): ReactNode {
  useTitle('Try it');
  const { may } = useCaller();
  const { definition, agent, conversation } = useSearch({ from: '/try' });
  const navigate = useNavigate({ from: '/try' });
  const talk = useTalk({ definition, agent }, conversation);
  const open = (id: string | undefined, next: Talk = talk): void =>
    void navigate({
      search: ({ ns }) => ({
        ...(ns && { ns }),
        ...(next.definition !== undefined && { definition: next.definition }),
        ...(next.agent !== undefined && { agent: next.agent }),
        ...(id !== undefined && { conversation: id }),
      }),
      replace: id === undefined && conversation === undefined,
    });
  return (
    <div className="grid wide-narrow">
      <Chat
        key={conversation ?? 'new'}
        id={conversation}
        talk={talk}
        onTalk={(next) => open(undefined, next)}
        onOpen={open}
      />
      <div className="grid side-cards">
        {conversation !== undefined && <About id={conversation} onDeleted={() => open(undefined)} />}
        {may('runs:read') && <Earlier current={conversation} onNew={() => open(undefined)} />}
      </div>
    </div>
  );
}

/** Whom the address names, or else the agent of the conversation. */
function useTalk(named: Talk, conversation: string | undefined): Talk {
  const isOpen = named.definition === undefined && named.agent === undefined;
  const agentId = useConversation(isOpen ? conversation : undefined).data?.pages[0]?.agentId;
  const definitions = useDefinitionNames().data;
  if (!isOpen || agentId === undefined || definitions === undefined) return named;
  return definitions.includes(agentId)
    ? { definition: agentId, agent: undefined }
    : { definition: undefined, agent: agentId };
}

/** The runs of a conversation in pages, the newest first. A conversation begins with its first run. */
function useConversation(id: string | undefined) {
  const { api } = useCaller();
  return useInfiniteQuery({
    queryKey: ['runs', 'conversation', id],
    enabled: id !== undefined,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }): Promise<ConversationView | null> => {
      try {
        const input = { limit: PAGE, ...(pageParam !== undefined && { cursor: pageParam }) };
        return await api.conversations.get(id ?? '', input, { signal }).page();
      } catch (error) {
        if (error instanceof RollcallError && error.code === 'CONVERSATION_NOT_FOUND') return null;
        throw error;
      }
    },
    getNextPageParam: (last) => last?.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  });
}

interface ChatProps {
  id: string | undefined;
  talk: Talk;
  onTalk: (talk: Talk) => void;
  onOpen: (id: string) => void;
}

function Chat({ id, talk, onTalk, onOpen }: ChatProps): ReactNode {
  const { api } = useCaller();
  const queries = useQueryClient();
  const list = useConversation(id);
  const runs = list.data?.pages.flatMap((page) => page?.items ?? []).toReversed() ?? [];
  const openRun = runs.find((run) => !isFinished(run));
  const isAsked = openRun?.waitingFor === 'input';
  const [newId] = useState(() => crypto.randomUUID());
  const conversationId = id ?? newId;
  const target = talk.definition === undefined ? { agent: talk.agent ?? '' } : { definition: talk.definition };
  const isReady = talk.definition !== undefined || talk.agent !== undefined;
  const sending = useMutation({
    mutationFn: async ({ input, key }: { input: string; key: string }) =>
      isAsked && openRun
        ? await api.runs.sendMessage(openRun.id, { input }, { idempotencyKey: key })
        : await api.runs.start({ ...target, input, conversationId }, { idempotencyKey: key }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['runs'] });
      if (id === undefined) onOpen(conversationId);
    },
  });
  return (
    <section className="card chat">
      <header>
        <Target talk={talk} onChange={onTalk} />
      </header>
      <Stream
        mark={`${runs.length} ${openRun?.state ?? ''} ${sending.isPending}`}
        before={
          list.hasNextPage && (
            <button className="button" type="button" onClick={() => void list.fetchNextPage()}>
              Show earlier messages
            </button>
          )
        }
      >
        {list.error && <Problem error={list.error} />}
        {runs.length === 0 && !sending.isPending && (
          <Empty>
            {isReady
              ? 'Nothing was said yet. Each message is a run: it is charged, recorded and limited like any other.'
              : 'Choose whom to talk to. A definition needs no running agent.'}
          </Empty>
        )}
        {runs.map((run) => (
          <Turn key={run.id} run={run} />
        ))}
        {sending.isPending && <Bubble role="user" text={sending.variables.input} />}
      </Stream>
      <Composer
        isReady={isReady || isAsked}
        isAsked={isAsked}
        isBusy={sending.isPending}
        error={sending.error}
        onSend={async (input) => void (await sending.mutateAsync({ input, key: crypto.randomUUID() }))}
        {...(openRun && !isAsked && { onStop: async () => void (await api.runs.cancel(openRun.id)) })}
        command={(input) => ({ method: 'POST', path: '/v1/runs', body: { ...target, input, conversationId } })}
      />
    </section>
  );
}

interface StreamProps {
  /** Changes when something was said. */
  mark: string;
  before: ReactNode;
  children: ReactNode;
}

/** Stays at the end while somebody is there. */
function Stream({ mark, before, children }: StreamProps): ReactNode {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current;
    const content = element?.firstElementChild;
    if (!element || !content) return undefined;
    const toEnd = (): void => void (element.scrollTop = element.scrollHeight);
    toEnd();
    const observer = new ResizeObserver(() => {
      if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX) toEnd();
    });
    observer.observe(content);
    return () => observer.disconnect();
  }, [mark]);
  return (
    <div className="stream" ref={holder} tabIndex={0} role="log" aria-label="Conversation">
      <div className="turns">
        {before}
        {children}
      </div>
    </div>
  );
}

const NEAR_PX = 240;

interface ComposerProps {
  isReady: boolean;
  isAsked: boolean;
  isBusy: boolean;
  error: unknown;
  onSend: (input: string) => Promise<void>;
  onStop?: () => Promise<void>;
  command: (input: string) => { method: 'POST'; path: string; body: unknown };
}

function Composer({ isReady, isAsked, isBusy, error, onSend, onStop, command }: ComposerProps): ReactNode {
  const { may } = useCaller();
  const id = useId();
  const [text, setText] = useState('');
  const input = text.trim();
  const canSend = isReady && !isBusy && input !== '';
  const send = async (): Promise<void> => {
    if (!canSend) return;
    try {
      await onSend(input);
      setText('');
    } catch {
      // the error is shown below, and the text stays
    }
  };
  if (!may('runs:start')) return <Empty>Your role may not start runs, so it can send no message.</Empty>;
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label className="visually-hidden" htmlFor={id}>
        {isAsked ? 'Your answer' : 'Your message'}
      </label>
      <textarea
        id={id}
        className="field"
        rows={2}
        maxLength={100_000}
        placeholder={isAsked ? 'Answer the question' : 'Write a message'}
        disabled={!isReady}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div className="buttons">
        <button className="button primary" type="submit" disabled={!canSend}>
          {isAsked ? 'Answer' : 'Send'}
        </button>
        {onStop && (
          <button className="button danger" type="button" onClick={() => void onStop()}>
            Stop
          </button>
        )}
        <span className="muted secondary">Enter sends, Shift+Enter begins a line</span>
      </div>
      {error ? <Problem error={error} /> : null}
      {isReady && <Commands request={command(input === '' ? 'Hello.' : input)} />}
    </form>
  );
}

/** What the conversation costs, and how it is removed. */
function About({ id, onDeleted }: { id: string; onDeleted: () => void }): ReactNode {
  const { api, may } = useCaller();
  const list = useConversation(id);
  const conversation = list.data?.pages[0];
  if (!conversation) return null;
  const { cost, runs, openRuns, agentId } = conversation;
  return (
    <section className="card">
      <header>
        <h2>This conversation</h2>
      </header>
      <Loaded query={list}>
        {() => (
          <dl className="facts">
            <Fact term="Cost">
              <b>{cost.microUsd > 0 ? money(cost.microUsd) : '–'}</b> {cost.microUsd === 0 && 'no price is known'}
            </Fact>
            <Fact term="Tokens">{count(cost.tokens)}</Fact>
            <Fact term="Runs">
              {count(runs)}
              {openRuns > 0 && `, ${count(openRuns)} in progress`}
            </Fact>
            <Fact term="With">
              <Link to="/runs" search={{ agent: agentId }} className="text-link">
                {plain(agentId)}
              </Link>
            </Fact>
            <Fact term="Id">
              <span className="mono">{plain(id)}</span>
            </Fact>
          </dl>
        )}
      </Loaded>
      {may('runs:start') && (
        <div className="padded">
          <div className="buttons">
            <Action
              label="Delete…"
              tone="danger"
              title="Delete this conversation?"
              verb="Delete the contents"
              hasNote={false}
              request={() => ({ method: 'DELETE', path: `/v1/conversations/${encodeURIComponent(id)}` })}
              run={async () => {
                await api.conversations.delete(id);
                onDeleted();
              }}
            >
              <p>
                Unfinished runs are cancelled, and all messages, calls and files are removed. Usage and cost stay. This
                cannot be undone.
              </p>
            </Action>
          </div>
        </div>
      )}
    </section>
  );
}
