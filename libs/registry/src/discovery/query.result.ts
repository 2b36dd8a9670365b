import { rate, type Match } from './candidate.js';
import type { Ranking } from './ranking.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';

/** The result of a query before it is converted to objects or JSON. */
export interface QueryResult {
  strategy: SelectionStrategy;
  /** Best first. */
  matches: readonly Match[];
  /** All fields of the ranking except the candidates. */
  facts: Omit<Ranking, 'candidates'>;
}

export function toRanking({ strategy, matches, facts }: QueryResult): Ranking {
  const candidates = matches.map((match, at) => ({ ...rate(match, strategy, at + 1), agent: match.listing.view() }));
  return { ...facts, candidates };
}

/** Returns the ranking in JSON. It reuses the serialised agents instead of serialising them for every query. */
export function rankingJson({ strategy, matches, facts }: QueryResult): string {
  const { prefer, scoreMeaning, ...rest } = facts;
  const candidates = matches.map((match, at) =>
    withMember(JSON.stringify(rate(match, strategy, at + 1)), 'agent', match.listing.document()),
  );
  const head = withMember(JSON.stringify({ prefer, scoreMeaning }), 'candidates', `[${candidates.join(',')}]`);
  return `${head.slice(0, -1)},${JSON.stringify(rest).slice(1)}`;
}

/** Appends a member to a JSON object that has at least one member. */
function withMember(object: string, name: string, value: string): string {
  return `${object.slice(0, -1)},"${name}":${value}}`;
}
