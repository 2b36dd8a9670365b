import { Inject, Injectable } from '@nestjs/common';
import { DEFAULT_NAMESPACE, localIdOf, NAMESPACE_PATTERN, namespaceOf } from '#rollcall/platform';
import { inputHashOf } from '../../tools/input.hash.js';
import { DefinitionInvalidError, DefinitionNameInvalidError } from '../definition.errors.js';
import { type DefinitionSource, isDefinitionName } from '../definition.js';
import { DefinitionValidator } from '../definition.validator.js';
import { DefinitionExplorer } from './definition.explorer.js';
import {
  type CodeDefinition,
  type ConfiguredAgents,
  defaultAgentOf,
  DEPLOYMENT_OPTIONS,
  type DeploymentOptions,
} from './deployment.options.js';
import type { DeployedDefinition } from './deployment.plan.js';

/** Definitions in the code or in the configuration are wrong, so the application does not start. */
export class DeploymentInvalidError extends Error {
  override readonly name = 'DeploymentInvalidError';

  constructor(readonly problems: readonly string[]) {
    super(`The definitions of agents are not valid:\n  - ${problems.join('\n  - ')}`);
  }
}

/** The sources that are read at the start of the application. */
type DeploymentSource = Exclude<DefinitionSource, 'rest'>;

/** A definition that is not checked yet. */
interface Candidate {
  /** Where the definition is, for error messages. */
  readonly place: string;
  readonly source: DeploymentSource;
  readonly namespace: string;
  readonly name: string;
  readonly content: unknown;
}

/** The definitions of code and configuration. They are validated strictly. */
@Injectable()
export class StrictDefinitions {
  constructor(
    @Inject(DEPLOYMENT_OPTIONS) private readonly options: DeploymentOptions,
    private readonly explorer: DefinitionExplorer,
    private readonly validator: DefinitionValidator,
  ) {}

  /** Throws one error that contains the problems of all definitions. */
  async read(): Promise<DeployedDefinition[]> {
    const { definitions = [], configured } = this.options;
    const code = codeCandidates([...definitions, ...this.explorer.explore()]);
    const candidates = [...code, ...configuredCandidates(configured)];
    const results = await Promise.all(
      candidates.map(async (one, index) => await this.check(one, candidates.slice(0, index))),
    );
    const problems = results.flatMap((result) => ('problems' in result ? result.problems : []));
    if (problems.length > 0) throw new DeploymentInvalidError(problems);
    return results.flatMap((result) => ('problems' in result ? [] : [result]));
  }

  private async check(
    one: Candidate,
    earlier: readonly Candidate[],
  ): Promise<DeployedDefinition | { problems: string[] }> {
    const { place, source, namespace, name, content } = one;
    const same = earlier.find((other) => isSame(one, other));
    const found = same ? [`the name is already used by ${same.place}`] : problemsOf(one);
    if (found.length > 0) return { problems: found.map((problem) => `${place}: ${problem}`) };
    try {
      const valid = await this.validator.strict(content, namespace);
      return { source, namespace, name, content: valid, hash: inputHashOf(valid) };
    } catch (error) {
      if (!(error instanceof DefinitionInvalidError)) throw error;
      return { problems: error.problems.map(({ message }) => `${place}: ${message}`) };
    }
  }
}

function codeCandidates(definitions: readonly CodeDefinition[]): Candidate[] {
  return definitions.map(({ name, namespace = DEFAULT_NAMESPACE, ...content }) => {
    const plugin = content.plugins?.at(-1);
    const origin = plugin === undefined ? 'in code' : `of the plugin ${plugin}`;
    return { place: `the definition ${JSON.stringify(name)} ${origin}`, source: 'code', namespace, name, content };
  });
}

/** The entries of `agents`, and the default agent `agent` (S0.7, S0.8). */
function configuredCandidates(configured: ConfiguredAgents = {}): Candidate[] {
  const { agents = {}, agent } = configured;
  const all = Object.entries(agents).map(([key, content]): Candidate => {
    return { place: `agents.${key}`, source: 'config', namespace: namespaceOf(key), name: localIdOf(key), content };
  });
  if (!agent) return all;
  const { name: _name, ...content } = agent;
  const name = defaultAgentOf(configured);
  return [...all, { place: 'agent', source: 'config', namespace: DEFAULT_NAMESPACE, name, content }];
}

function isSame(one: Candidate, other: Candidate): boolean {
  return one.source === other.source && one.namespace === other.namespace && one.name === other.name;
}

function problemsOf({ namespace, name }: Candidate): string[] {
  return [
    ...(NAMESPACE_PATTERN.test(namespace) ? [] : [`${JSON.stringify(namespace)} is not the name of a namespace`]),
    ...(isDefinitionName(name) ? [] : [new DefinitionNameInvalidError(name).message]),
  ];
}
