import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { definitionName, DefinitionsService, NamedAgents } from '#rollcall/agent-runtime';
import {
  type AgentRecord,
  Directory,
  DirectoryFollower,
  type LabelledAgent,
  RegistryClock,
  searchableWords,
  TextIndex,
} from '#rollcall/registry';
import { PublicUrl } from '../http/public.url.js';
import { descriptionOf } from '../agents/discovery/agent.lookup.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { agentFacts, type CatalogEntry, type EntryFacts, ownFacts } from './catalog.entry.js';
import { CatalogNames, publisherAt } from './catalog.names.js';

/** A public agent and its entry. */
export interface PublicAgent {
  readonly agent: LabelledAgent;
  readonly entry: CatalogEntry;
}

/** The content of the catalogs at one time. */
export interface CatalogState {
  readonly names: CatalogNames;
  /** Rollcall itself. Empty if the catalogs are off. */
  readonly own: readonly CatalogEntry[];
  readonly agents: readonly PublicAgent[];
  readonly agentsByIdentifier: ReadonlyMap<string, PublicAgent>;
  /** All entries: Rollcall, and then the agents by id. */
  readonly byIdentifier: ReadonlyMap<string, CatalogEntry>;
}

/** The descriptions of definitions, by `definitionKey`. */
type Descriptions = ReadonlyMap<string, string>;

const MAX_TEXTS = 20_000;

/**
 * The only projection of public agents: all catalogs are views of it. An agent is public if it has the label that the operator chose.
 * Many requests without a credential share one projection. Its text index is updated with what has changed.
 */
@Injectable()
export class PublicCatalog {
  private state?: { readonly at: number; readonly value: Promise<CatalogState> };
  private readonly index = new TextIndex();
  private readonly words = new LRUCache<string, CatalogEntry['words']>({ max: MAX_TEXTS });

  constructor(
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly definitions: DefinitionsService,
    private readonly agentNames: NamedAgents,
    private readonly urls: PublicUrl,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async current(): Promise<CatalogState> {
    const now = performance.now();
    if (this.state && now - this.state.at < this.config.catalog.refresh) return await this.state.value;
    const value = this.project();
    this.state = { at: now, value };
    value.catch(() => (this.state = undefined));
    return await value;
  }

  /** The entries that contain a word of the text, with their scores from 1 to 100. */
  search({ byIdentifier }: CatalogState, text: string): { entry: CatalogEntry; score: number }[] {
    return [...this.index.search(text)].flatMap(([identifier, score]) => {
      const entry = byIdentifier.get(identifier);
      return entry ? [{ entry, score }] : [];
    });
  }

  private async project(): Promise<CatalogState> {
    const names = new CatalogNames(this.config.catalog.publisher ?? publisherAt(this.urls.of('/')));
    const listed = await this.publicAgents();
    const descriptions = await this.descriptionsOf(listed);
    const agents = listed.map((agent) => ({ agent, entry: this.entryOf(agent, names, descriptions) }));
    const isOn = this.config.catalog.publicLabel !== undefined;
    const own = isOn ? ownFacts(names, this.urls).map((facts) => this.indexed(facts)) : [];
    const all = [...own, ...agents.map(({ entry }) => entry)];
    this.index.update(all.map(({ identifier, words }) => [identifier, words]));
    return {
      names,
      own,
      agents,
      agentsByIdentifier: new Map(agents.map((agent) => [agent.entry.identifier, agent])),
      byIdentifier: new Map(all.map((entry) => [entry.identifier, entry])),
    };
  }

  /**
   * All agents, in any namespace, with the label that the operator chose, except agents that their names do not mean. Without a label,
   * nothing is public.
   */
  private async publicAgents(): Promise<LabelledAgent[]> {
    const { publicLabel } = this.config.catalog;
    if (!publicLabel) return [];
    if (!this.follower.isFresh) await this.follower.refresh();
    const labelled = this.directory.labelled(publicLabel.key, publicLabel.value, this.clock.now());
    const meant = new Set(await this.agentNames.meant(labelled.map(({ record }) => record)));
    return labelled.filter(({ record }) => meant.has(record));
  }

  private entryOf(agent: LabelledAgent, names: CatalogNames, descriptions: Descriptions): CatalogEntry {
    const { record } = agent;
    const identifier = names.agentIdentifier(record);
    const url = this.urls.of(`/ard/agents/${encodeURIComponent(identifier)}/agent-card.json`);
    const description = descriptionOf(record, descriptions.get(definitionKey(record)));
    return this.indexed(agentFacts(agent, { identifier, url, description }));
  }

  /** Reads the descriptions of the definitions of the agents, with one statement for each namespace. */
  private async descriptionsOf(agents: readonly LabelledAgent[]): Promise<Descriptions> {
    const defined = agents.map(({ record }) => record).filter(({ definition }) => definition !== null);
    const byNamespace = Object.entries(Object.groupBy(defined, ({ namespace }) => namespace));
    const read = byNamespace.map(async ([namespace, records = []]) => {
      const names = new Set(records.map(({ definition }) => definitionName(definition ?? '')));
      const summaries = await this.definitions.summaries(namespace, [...names]);
      return summaries.map(({ name, description }) => [`${namespace}/${name}`, description] as const);
    });
    return new Map((await Promise.all(read)).flat());
  }

  /** Computes the searchable words of an entry, or takes them from the cache. */
  private indexed(facts: EntryFacts): CatalogEntry {
    const { displayName: name, description, capabilities, tags } = facts;
    const key = JSON.stringify([name, description, capabilities]);
    const words = this.words.get(key) ?? searchableWords({ name, description, capabilities, tags });
    this.words.set(key, words);
    return { ...facts, words };
  }
}

function definitionKey({ namespace, definition }: AgentRecord): string {
  return `${namespace}/${definitionName(definition ?? '')}`;
}
