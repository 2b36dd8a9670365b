import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { DEFAULT_NAMESPACE, NO_QUOTA, QuotaExceededError } from '#rollcall/platform';
import { inputHashOf } from '../tools/input.hash.js';
import { AgentNames } from './agent.names.js';
import { type ChangeListener, type ChangeType, DefinitionChanges } from './definition.changes.js';
import {
  DefinitionChangedError,
  DefinitionConfiguredError,
  DefinitionExistsError,
  DefinitionNameInvalidError,
  DefinitionNotFoundError,
  DefinitionRevisionNotFoundError,
} from './definition.errors.js';
import {
  type Definition,
  type DefinitionContent,
  type DefinitionKey,
  type DefinitionSource,
  isDefinitionName,
} from './definition.js';
import { type DefinedParts, DefinitionFacts } from './definition.facts.js';
import { DefinitionStore, type DefinitionSummary, type RevisionRow, toDefinition } from './definition.store.js';
import { DefinitionValidator } from './definition.validator.js';
import {
  DEFAULT_AGENT,
  defaultAgentOf,
  DEPLOYMENT_OPTIONS,
  type DeploymentOptions,
} from './deployment/deployment.options.js';

export interface DefinitionDraft extends DefinitionKey {
  /** Checked by `DefinitionValidator`. */
  content: unknown;
  source: DefinitionSource;
  by: string;
}

/** One field that differs between two revisions. An absent value is undefined. */
export interface FieldChange {
  /** The path of the field, such as `budget.tokens`. A list is one value. */
  field: string;
  before?: unknown;
  after?: unknown;
}

const MAX_SUMMARIES = 1_000;

/**
 * Registers definitions. Each change adds an immutable revision and its event in one transaction. This class does not build agents:
 * `onChanged` reports the names whose agents must be rebuilt.
 */
@Injectable()
export class DefinitionsService {
  constructor(
    private readonly store: DefinitionStore,
    private readonly validator: DefinitionValidator,
    private readonly changes: DefinitionChanges,
    private readonly names: AgentNames,
    private readonly facts: DefinitionFacts,
    @Inject(DEPLOYMENT_OPTIONS) private readonly deployment: DeploymentOptions,
  ) {}

  /** Calls the listener after each commit on this replica that replaces or removes a definition. */
  onChanged(listener: ChangeListener): void {
    this.changes.onChanged(listener);
  }

  /** Checks the name and the content, and returns the content with its defaults. */
  async check({ namespace, name, content }: DefinitionKey & { content: unknown }): Promise<DefinitionContent> {
    if (!isDefinitionName(name)) throw new DefinitionNameInvalidError(name);
    return await this.validator.strict(content, namespace);
  }

  async register(draft: DefinitionDraft): Promise<Definition> {
    const commit = await this.prepareRegister(draft);
    return await commit();
  }

  /** Checks the definition, which can take a while and needs no transaction. The result registers it. */
  async prepareRegister(draft: DefinitionDraft): Promise<() => Promise<Definition>> {
    const { namespace, name } = draft;
    if (!isDefinitionName(name)) throw new DefinitionNameInvalidError(name);
    const row = await this.rowOf(draft);
    return async () =>
      await this.store.transaction(async () => {
        await this.names.lockForDefinition({ namespace, name });
        await this.checkQuota(namespace);
        const added = await this.store.insert(row);
        if (!added) throw await this.nameTaken(draft);
        await this.append('definition.registered', added, draft);
        return toDefinition(added);
      });
  }

  /**
   * Adds a revision. If content and source are unchanged, the current revision is returned instead. If `expected` is present, the
   * current revision must have this number.
   */
  async replace(draft: DefinitionDraft, expected?: number): Promise<Definition> {
    const commit = await this.prepareReplace(draft, expected);
    return await commit();
  }

  /** Checks the definition, which can take a while and needs no transaction. The result replaces it, as `replace` does. */
  async prepareReplace(draft: DefinitionDraft, expected?: number): Promise<() => Promise<Definition>> {
    const row = await this.rowOf(draft);
    return async () =>
      await this.store.transaction(async () => {
        const current = await this.changeable(draft, draft.source);
        if (expected !== undefined && current.revision !== expected)
          throw new DefinitionChangedError(draft.name, expected, current.revision);
        if (current.hash === row.hash && current.source === row.source) return toDefinition(current);
        await this.checkQuota(draft.namespace);
        const added = await this.store.advance(row, current.revision + 1);
        await this.append('definition.replaced', added, draft);
        return toDefinition(added);
      });
  }

  /** Rejects with QUOTA_EXCEEDED. Changes that commit at the same moment can exceed the quota by their number. */
  async checkQuota(namespace: string): Promise<void> {
    const { revisionQuota: quota = NO_QUOTA } = this.deployment;
    if (quota.limit === 0 || (await this.store.countRevisions(namespace, quota.limit)) < quota.limit) return;
    throw new QuotaExceededError(quota, 'revisions of definitions', 'namespace');
  }

  /** Removes the definition. Its revisions remain, because runs refer to them. */
  async unregister({ source, by, ...key }: DefinitionKey & { source: DefinitionSource; by: string }): Promise<void> {
    await this.store.transaction(async () => {
      const current = await this.changeable(key, source);
      await this.store.remove(key.namespace, key.name);
      await this.append('definition.unregistered', current, { source, by });
    });
  }

  /** The definition that a run without a name uses (S0.8). The definition does not have to exist. */
  defaultName(namespace: string): string {
    return namespace === DEFAULT_NAMESPACE ? defaultAgentOf(this.deployment.configured) : DEFAULT_AGENT;
  }

  async get({ namespace, name }: DefinitionKey): Promise<Definition> {
    const row = await this.store.find(namespace, name);
    if (!row) {
      throw new DefinitionNotFoundError(name, await this.known(namespace));
    }
    return toDefinition(row);
  }

  /** The names of all definitions of a namespace, to suggest one. */
  async known(namespace: string): Promise<string[]> {
    return (await this.summaries(namespace)).map(({ name }) => name);
  }

  /** The name may be any text. */
  async find({ namespace, name }: DefinitionKey): Promise<Definition | undefined> {
    const row = isDefinitionName(name) ? await this.store.find(namespace, name) : undefined;
    return row && toDefinition(row);
  }

  async has({ namespace, name }: DefinitionKey): Promise<boolean> {
    return (await this.store.find(namespace, name)) !== undefined;
  }

  /** Sorted by name; `after` is the last name of the previous page. */
  async list(namespace: string, limit: number, after?: string): Promise<Definition[]> {
    return (await this.store.page(namespace, limit, after)).map(toDefinition);
  }

  /** The names and descriptions of the first definitions, sorted by name. If `among` is present, only definitions with these names. */
  async summaries(namespace: string, among?: readonly string[]): Promise<DefinitionSummary[]> {
    const names = among?.filter(isDefinitionName);
    return await this.store.summaries(namespace, names?.length ?? MAX_SUMMARIES, names);
  }

  /** Like `summaries`, but only definitions whose agents are neither drained nor quarantined. */
  async workingSummaries(namespace: string, among?: readonly string[]): Promise<DefinitionSummary[]> {
    const names = among?.filter(isDefinitionName);
    return await this.store.workingSummaries(namespace, names?.length ?? MAX_SUMMARIES, names);
  }

  /**
   * The definitions that claim capabilities, sorted by name. Definitions whose agents are drained or quarantined are left out.
   */
  async capableByName(namespace: string): Promise<{ name: string; capabilities: string[]; parts: DefinedParts }[]> {
    const rows = await this.store.capable(namespace, this.facts.hasModelCapabilities(namespace));
    return rows.map(({ name, parts }) => {
      return { name, capabilities: this.facts.capabilitiesOf(namespace, parts), parts };
    });
  }

  async capabilities(key: DefinitionKey): Promise<string[]> {
    return this.facts.capabilitiesOf(key.namespace, (await this.get(key)).content);
  }

  /**
   * Newest first; `before` is the last revision of the previous page. This method, `revision` and `diff` also find the revisions of a
   * definition that was removed.
   */
  async revisions(key: DefinitionKey, limit: number, before?: number): Promise<Definition[]> {
    const rows = await this.store.revisions(key.namespace, key.name, limit, before);
    if (rows.length === 0) await this.checkHasRevisions(key);
    return rows.map(toDefinition);
  }

  async revision({ namespace, name }: DefinitionKey, revision: number): Promise<Definition> {
    const row = await this.store.revision(namespace, name, revision);
    if (!row) throw new DefinitionRevisionNotFoundError(name, revision);
    return toDefinition(row);
  }

  async diff(key: DefinitionKey, from: number, to: number): Promise<FieldChange[]> {
    await this.checkHasRevisions(key);
    const before = await this.revision(key, from);
    return diffOf(before.content, (await this.revision(key, to)).content);
  }

  private async checkHasRevisions({ namespace, name }: DefinitionKey): Promise<void> {
    const [newest] = await this.store.revisions(namespace, name, 1);
    if (!newest) throw new DefinitionNotFoundError(name);
  }

  /** A definition of the deployment cannot be replaced over REST, so the error does not propose a replacement. */
  private async nameTaken({ namespace, name, source }: DefinitionDraft): Promise<Error> {
    const current = await this.store.find(namespace, name);
    const isConfigured = source === 'rest' && current !== undefined && current.source !== 'rest';
    return isConfigured ? new DefinitionConfiguredError(name, current.source) : new DefinitionExistsError(name);
  }

  /** Locks the definition. A definition of the deployment cannot be changed over REST. */
  private async changeable({ namespace, name }: DefinitionKey, source: DefinitionSource): Promise<RevisionRow> {
    const current = await this.store.lock(namespace, name);
    if (!current) throw new DefinitionNotFoundError(name);
    if (source === 'rest' && current.source !== 'rest') throw new DefinitionConfiguredError(name, current.source);
    return current;
  }

  private async rowOf({
    namespace,
    name,
    content: given,
    source,
    by,
  }: DefinitionDraft): Promise<Omit<RevisionRow, 'revision' | 'createdAt'>> {
    const content = await this.validator.strict(given, namespace);
    return { namespace, name, content, hash: inputHashOf(content), source, createdBy: by };
  }

  private async append(
    type: ChangeType,
    { namespace, name, revision, content }: RevisionRow,
    { source, by }: Pick<DefinitionDraft, 'source' | 'by'>,
  ): Promise<void> {
    await this.changes.append({ type, namespace, name, revision, content, source, by });
  }
}

/** The fields that differ, sorted by path. */
function diffOf(before: object, after: object, path = ''): FieldChange[] {
  const [one, other] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const keys = [...new Set([...one.keys(), ...other.keys()])].toSorted();
  return keys.flatMap((key) => changeOf(path + key, one.get(key), other.get(key)));
}

function changeOf(field: string, before: unknown, after: unknown): FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isPlain(before) && isPlain(after)) return diffOf(before, after, `${field}.`);
  return [{ field, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
