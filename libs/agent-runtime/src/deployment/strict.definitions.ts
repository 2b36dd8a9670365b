import { DEFAULT_NAMESPACE, localIdOf, NAMESPACE_PATTERN, namespaceOf } from '#rollcall/platform';
import { DefinitionInvalidError, DefinitionNameInvalidError } from '../definitions/definition.errors.js';
import { isDefinitionName } from '../definitions/definition.name.js';
import type { DefinitionValidator } from '../definitions/definition.validator.js';
import { inputHashOf } from '../tools/input.hash.js';
import type { CodeDefinition, DeployedDefinition, DeploymentSource } from './deployed.definition.js';
import { type ConfiguredAgents, defaultAgentOf } from './deployment.options.js';
import { DeploymentInvalidError } from './deployment.errors.js';

/** A definition that is not checked yet. */
interface Candidate {
  /** Where it is, for error messages. */
  readonly place: string;
  readonly source: DeploymentSource;
  readonly namespace: string;
  readonly name: string;
  readonly content: unknown;
}

export function codeCandidates(definitions: readonly CodeDefinition[]): Candidate[] {
  return definitions.map(({ name, namespace = DEFAULT_NAMESPACE, ...content }) => {
    return { place: `the definition ${JSON.stringify(name)} in code`, source: 'code', namespace, name, content };
  });
}

/** The entries of `agents`, and the default agent `agent` (S0.7, S0.8). */
export function configuredCandidates(configured: ConfiguredAgents = {}): Candidate[] {
  const { agents = {}, agent } = configured;
  const all = Object.entries(agents).map(([key, content]): Candidate => {
    return { place: `agents.${key}`, source: 'config', namespace: namespaceOf(key), name: localIdOf(key), content };
  });
  if (!agent) return all;
  const { name: _name, ...content } = agent;
  const name = defaultAgentOf(configured);
  return [...all, { place: 'agent', source: 'config', namespace: DEFAULT_NAMESPACE, name, content }];
}

/** Validates strictly. All problems of all definitions are reported at once. */
export function checkedDefinitions(
  candidates: readonly Candidate[],
  validator: DefinitionValidator,
): DeployedDefinition[] {
  const problems: string[] = [];
  const seen = new Map<string, string>();
  const checked = candidates.flatMap((one): DeployedDefinition[] => {
    const { place, source, namespace, name, content } = one;
    const key = `${source} ${namespace}/${name}`;
    const other = seen.get(key);
    seen.set(key, place);
    const found = other === undefined ? problemsOf(one) : [`the name is used by ${other}, too`];
    problems.push(...found.map((problem) => `${place}: ${problem}`));
    if (found.length > 0) return [];
    try {
      const valid = validator.strict(content, namespace);
      return [{ source, namespace, name, content: valid, hash: inputHashOf(valid) }];
    } catch (error) {
      if (!(error instanceof DefinitionInvalidError)) throw error;
      problems.push(...error.details.errors.map(({ message }) => `${place}: ${message}`));
      return [];
    }
  });
  if (problems.length > 0) throw new DeploymentInvalidError(problems);
  return checked;
}

function problemsOf({ namespace, name }: Candidate): string[] {
  return [
    ...(NAMESPACE_PATTERN.test(namespace) ? [] : [`${JSON.stringify(namespace)} is not the name of a namespace`]),
    ...(isDefinitionName(name) ? [] : [new DefinitionNameInvalidError(name).message]),
  ];
}
