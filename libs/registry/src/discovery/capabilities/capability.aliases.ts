import { RegistryError } from '../../errors.js';
import { matchesCapability, normaliseCapability, withAncestors } from './capability.js';

/** The configured aliases are invalid. Thrown at startup, never by a query. */
export class CapabilityAliasError extends RegistryError {
  readonly code = 'INVALID_CAPABILITY_ALIAS';

  constructor(fault: string) {
    super(`The capability aliases cannot be used: ${fault}. Map every alias to a capability that agents claim.`);
  }
}

/**
 * Other names for capabilities, configured by the operator. Every declared capability and every query is resolved here, so an alias and its
 * meaning are always equivalent. An alias also applies to its descendants: with `coding` → `code`, `coding.rust` is `code.rust`.
 * An alias may lead to another alias; the constructor rejects cycles.
 */
export class CapabilityAliases {
  private readonly meanings = new Map<string, string>();

  constructor(aliases: Readonly<Record<string, string>> = {}) {
    const given = new Map(
      Object.entries(aliases).map(([alias, meaning]) => [normaliseCapability(alias), normaliseCapability(meaning)]),
    );
    for (const [alias, meaning] of given) {
      if (alias === '' || meaning === '') throw new CapabilityAliasError(`"${alias}" → "${meaning}" has an empty name`);
      this.meanings.set(alias, follow(given, alias));
    }
  }

  /** Returns the capability that the name stands for, in its normal form. */
  resolve(text: string): string {
    let capability = normaliseCapability(text);
    // The meaning of one alias may be a descendant of another alias. There are no cycles, so each alias applies at most once.
    for (let left = this.meanings.size; left > 0; left -= 1) capability = translate(this.meanings, capability);
    return capability;
  }

  /**
   * Returns keys for a search in Postgres: every agent that matches the capability has at least one of them (see capabilityKeys).
   * An agent that has one of them may still not match, so the caller must check the results.
   */
  searchKeysFor(requested: string): string[] {
    const keys = new Set([this.resolve(requested)]);
    // Reverses the steps of `resolve`, which takes at most one step for each alias.
    for (let left = this.meanings.size; left > 0; left -= 1) {
      for (const origin of [...keys].flatMap((key) => this.originsOf(key))) keys.add(origin);
    }
    return [...keys];
  }

  /** The names that one step of `resolve` turns into this capability or into one of its descendants. */
  private originsOf(capability: string): string[] {
    const origins: string[] = [];
    for (const [alias, meaning] of this.meanings) {
      if (matchesCapability(capability, meaning)) origins.push(alias + capability.slice(meaning.length));
      else if (matchesCapability(meaning, capability)) origins.push(alias);
    }
    return origins;
  }

  /** Resolves each name, removes duplicates and empty names, and sorts the result. */
  resolveAll(texts: readonly string[]): string[] {
    const resolved = new Set(texts.map((text) => this.resolve(text)));
    resolved.delete('');
    return [...resolved].toSorted();
  }
}

function translate(meanings: ReadonlyMap<string, string>, capability: string): string {
  for (const ancestor of withAncestors(capability)) {
    const meaning = meanings.get(ancestor);
    if (meaning !== undefined) return meaning + capability.slice(ancestor.length);
  }
  return capability;
}

function follow(given: ReadonlyMap<string, string>, alias: string): string {
  const path = [alias];
  for (let current = alias; ;) {
    const next = translate(given, current);
    if (next === current) return current;
    path.push(next);
    // An alias to its own descendant (`code` → `code.build`) grows with every step and never repeats a name.
    if (path.indexOf(next) < path.length - 1 || path.length > given.size + 1) {
      throw new CapabilityAliasError(`${path.join(' → ')} is a cycle`);
    }
    current = next;
  }
}
