import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ContentBody, EffectiveView } from '#rollcall/client';
import { count, money, plain } from '../../parts/format.js';
import { Fact } from '../../parts/parts.js';
import { Problem } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';

interface EffectiveProps {
  name: string;
  /** A draft; absent: the current revision. */
  draft?: ContentBody | undefined;
}

/** What an agent of the definition would use. Nothing is stored. */
export function Effective({ name, draft }: EffectiveProps): ReactNode {
  const { api } = useCaller();
  const { data, error } = useQuery({
    queryKey: ['definition', name, 'effective', draft],
    queryFn: async ({ signal }) =>
      draft === undefined
        ? await api.definitions.getEffective(name, { signal })
        : await api.definitions.preview({ name, content: draft }, { signal }),
    placeholderData: (before) => before,
  });
  return (
    <section className="card" aria-labelledby="effective">
      <header>
        <h2 id="effective">What it would use</h2>
        <small>{draft === undefined ? 'dry run of the current revision' : 'dry run of your draft'}</small>
      </header>
      {error ? <Problem error={error} /> : data && <Facts effective={data} />}
    </section>
  );
}

const KINDS: Record<EffectiveView['budgets'][number]['kind'], string> = {
  run: 'each run',
  agent: 'agent',
  namespace: 'namespace',
};

function Facts({ effective }: { effective: EffectiveView }): ReactNode {
  const { provider, model, tools, skills, limits, middleware, plugins, budgets } = effective;
  const { maxIterations, maxDelegationDepth, maxConcurrency, whenBusy } = limits;
  return (
    <dl className="facts">
      <Fact term="Provider">{plain(provider)}</Fact>
      <Fact term="Model">
        {model ? (
          <>
            <b>{plain(`${model.choice.vendor}/${model.choice.model}`)}</b>
            <br />
            <span className="muted">{plain(model.because)}</span>
          </>
        ) : (
          'the provider chooses it'
        )}
      </Fact>
      <Fact term={`Tools, ${count(tools.length)}`}>
        {tools.length === 0
          ? 'none'
          : tools.map(({ name, origin }) => (
              <span className="capability" key={name} title={`from ${plain(origin)}`}>
                {plain(name)}
              </span>
            ))}
      </Fact>
      <Fact term="Skills">
        {skills.length === 0
          ? 'none'
          : skills.map(({ name, mode, tokens }) => (
              <div key={name}>
                <span className="capability">{plain(name)}</span>
                {tokens === null
                  ? 'does not exist any more'
                  : `${mode === 'preload' ? 'in the system prompt' : 'read when needed'}, ${count(tokens)} tokens`}
              </div>
            ))}
      </Fact>
      <Fact term="Limits">
        {count(maxIterations)} replies of the model, {count(maxDelegationDepth)} levels of delegation,{' '}
        {maxConcurrency === null
          ? 'any number of calls at the same time'
          : `${count(maxConcurrency)} calls at the same time; others ${whenBusy === 'queue' ? 'wait' : 'are rejected'}`}
      </Fact>
      <Fact term="Budgets">
        {budgets.length === 0
          ? 'none but that of the fleet'
          : budgets.map(({ kind, subject, window, limit, remaining }) => (
              <div key={`${kind} ${subject ?? ''} ${window}`}>
                {KINDS[kind]}
                {subject !== null && ` ${plain(subject)}`}: {amounts(remaining)} left of {amounts(limit)}
                {window !== 'total' && `, ${window}`}
              </div>
            ))}
      </Fact>
      <Fact term="Middleware">{middleware.length === 0 ? 'none' : plain(middleware.join(' → '))}</Fact>
      {plugins.length > 0 && <Fact term="Plugins">{plain(plugins.join(', '))}</Fact>}
    </dl>
  );
}

function amounts({ tokens, microUsd }: { tokens: number | null; microUsd: number | null }): string {
  const parts = [tokens !== null && `${count(tokens)} tokens`, microUsd !== null && money(microUsd)];
  return parts.filter((part) => part !== false).join(', ') || 'any amount';
}
