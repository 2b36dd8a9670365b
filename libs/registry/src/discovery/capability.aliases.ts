import { CapabilityAliasError } from './discovery.errors.js';
import { matchesCapability, normaliseCapability, withAncestors } from './capability.js';

/**
 * Other words for capabilities, as the operator configured them. Every claim and every question passes through here, so an
 * alias and its meaning are the same everywhere. An alias also holds for what is below it: with `coding` → `code`,
 * `coding.rust` is `code.rust`. Aliases of aliases are followed; a circle is refused when it is configured.
 */
export class CapabilityAliases {
  private readonly meanings = new Map<string, string>();

  constructor(aliases: Readonly<Record<string, string>> = {}) {
    const given = new Map(
      Object.entries(aliases).map(([alias, meaning]) => [normaliseCapability(alias), normaliseCapability(meaning)]),
    );
    for (const [alias, meaning] of given) {
      if (alias === '' || meaning === '') throw new CapabilityAliasError(`"${alias}" → "${meaning}" has an empty side`);
      this.meanings.set(alias, follow(given, alias));
    }
  }

  /** The capability meant, in its normal form. */
  resolve(text: string): string {
    let capability = normaliseCapability(text);
    // What one alias leads to may lie below another; there are no circles, so each alias is met once at most.
    for (let left = this.meanings.size; left > 0; left -= 1) capability = translate(this.meanings, capability);
    return capability;
  }

  /**
   * Every word of which a claim has at least one among its keys (see capabilityKeys) if it answers what is asked. Some that
   * have one may not answer after all: who asks Postgres by these looks again.
   */
  searchKeysFor(asked: string): string[] {
    const words = new Set([this.resolve(asked)]);
    // As many steps back as resolving may take forward.
    for (let left = this.meanings.size; left > 0; left -= 1) {
      for (const origin of [...words].flatMap((word) => this.originsOf(word))) words.add(origin);
    }
    return [...words];
  }

  /** What one step of resolving turns into this word, or into something it contains. */
  private originsOf(word: string): string[] {
    const origins: string[] = [];
    for (const [alias, meaning] of this.meanings) {
      if (matchesCapability(word, meaning)) origins.push(alias + word.slice(meaning.length));
      else if (matchesCapability(meaning, word)) origins.push(alias);
    }
    return origins;
  }

  /** The distinct capabilities meant, sorted; what is empty after normalising is dropped. */
  resolveAll(texts: readonly string[]): string[] {
    const resolved = new Set(texts.map((text) => this.resolve(text)));
    resolved.delete('');
    return [...resolved].toSorted();
  }
}

function translate(meanings: ReadonlyMap<string, string>, capability: string): string {
  for (const container of withAncestors(capability)) {
    const meaning = meanings.get(container);
    if (meaning !== undefined) return meaning + capability.slice(container.length);
  }
  return capability;
}

function follow(given: ReadonlyMap<string, string>, alias: string): string {
  const path = [alias];
  for (let word = alias; ;) {
    const next = translate(given, word);
    if (next === word) return word;
    path.push(next);
    // An alias to something below itself (`code` → `code.build`) would grow for ever without ever meeting itself.
    if (path.indexOf(next) < path.length - 1 || path.length > given.size + 1) {
      throw new CapabilityAliasError(`${path.join(' → ')} goes round in a circle`);
    }
    word = next;
  }
}
