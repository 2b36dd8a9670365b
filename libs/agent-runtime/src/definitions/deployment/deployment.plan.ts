import type { WantedModel } from '#rollcall/providers';
import { qualifiedId } from '#rollcall/platform';
import type { DefinitionContent, DefinitionSource } from '../definition.js';

/** A valid definition of this deployment, or of an import. */
export interface DeployedDefinition {
  readonly namespace: string;
  readonly name: string;
  readonly source: DefinitionSource;
  readonly content: DefinitionContent;
  readonly hash: string;
}

/** A registered definition without its content. */
export interface RegisteredDefinition {
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly hash: string;
  readonly source: DefinitionSource;
  readonly capabilities: readonly string[] | null;
  /** The plugins that it needs. */
  readonly plugins?: readonly string[] | null;
  readonly model?: WantedModel;
  readonly provider?: string;
}

/** What one source may change. */
export interface ManagedSource {
  readonly source: DefinitionSource;
  /** Whether definitions that the source does not contain any more are removed. */
  readonly removes: boolean;
}

/** A wanted name that belongs to a definition of another source, or to a live agent that was not built from a definition of this name. */
export interface TakenName {
  readonly wanted: DeployedDefinition;
  readonly by: DefinitionSource | 'agent';
}

/** What exists when the plan is made. */
export interface CurrentNames {
  readonly registered: readonly RegisteredDefinition[];
  /** The qualified names of live agents that were not built from a definition of their name. */
  readonly spawned: ReadonlySet<string>;
}

export interface DeploymentPlan {
  readonly added: readonly DeployedDefinition[];
  readonly replaced: readonly DeployedDefinition[];
  readonly unchanged: readonly DeployedDefinition[];
  readonly taken: readonly TakenName[];
  readonly removed: readonly RegisteredDefinition[];
  /** Registered definitions that their source does not contain any more, but may not remove. */
  readonly kept: readonly RegisteredDefinition[];
}

/** If several sources contain a name, it belongs to the first of these, so the operator can override the code and the files. */
const PRECEDENCE: readonly DefinitionSource[] = ['config', 'code', 'file'];

/**
 * Compares the wanted definitions with the registered ones. A definition of a source that is not managed is never changed. A
 * definition that moves from one managed source to another is replaced, not removed.
 */
export function planOf(
  wanted: readonly DeployedDefinition[],
  { registered, spawned }: CurrentNames,
  managed: readonly ManagedSource[],
): DeploymentPlan {
  const current = new Map(registered.map((one) => [keyOf(one), one]));
  const winners = winnersOf(wanted);
  const isManaged = (source: DefinitionSource): boolean => managed.some((one) => one.source === source);
  const decided = Map.groupBy(winners.values(), (one) => {
    const now = current.get(keyOf(one));
    if (!now) return spawned.has(qualifiedId(one.namespace, one.name)) ? 'taken' : 'added';
    if (!isManaged(now.source)) return 'taken';
    return now.hash === one.hash && now.source === one.source ? 'unchanged' : 'replaced';
  });
  const missing = Map.groupBy(
    registered.filter((one) => isManaged(one.source) && !winners.has(keyOf(one))),
    (one) => managed.some(({ source, removes }) => source === one.source && removes),
  );
  return {
    added: decided.get('added') ?? [],
    replaced: decided.get('replaced') ?? [],
    unchanged: decided.get('unchanged') ?? [],
    taken: [
      ...(decided.get('taken') ?? []).map((one) => ({
        wanted: one,
        by: current.get(keyOf(one))?.source ?? ('agent' as const),
      })),
      ...wanted.flatMap((one) => shadowed(one, winners.get(keyOf(one)))),
    ],
    removed: missing.get(true) ?? [],
    kept: missing.get(false) ?? [],
  };
}

function winnersOf(wanted: readonly DeployedDefinition[]): Map<string, DeployedDefinition> {
  const rank = ({ source }: DeployedDefinition): number => PRECEDENCE.indexOf(source);
  const weakestFirst = wanted.toSorted((one, other) => rank(other) - rank(one));
  return new Map(weakestFirst.map((one) => [keyOf(one), one]));
}

function shadowed(one: DeployedDefinition, winner?: DeployedDefinition): DeploymentPlan['taken'] {
  return winner && winner.source !== one.source ? [{ wanted: one, by: winner.source }] : [];
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}
