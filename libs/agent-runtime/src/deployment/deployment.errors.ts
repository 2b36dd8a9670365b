/** Definitions in the code or in the configuration are wrong, so the application does not start. */
export class DeploymentInvalidError extends Error {
  override readonly name = 'DeploymentInvalidError';

  constructor(readonly problems: readonly string[]) {
    super(`The definitions of agents are not valid:\n  - ${problems.join('\n  - ')}`);
  }
}
