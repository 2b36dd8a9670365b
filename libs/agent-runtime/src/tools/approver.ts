/** Who may decide about a call that needs an approval: only an operator (`runs:manage`), or also the caller that started the run. */
export type Approver = 'operator' | 'caller';

interface ApprovalRule {
  readonly needsApproval: boolean;
  readonly approve?: Approver;
}

/** Who must approve the calls of a tool; undefined if they need no approval. */
export function approverOf({ needsApproval, approve = 'operator' }: ApprovalRule): Approver | undefined {
  return needsApproval ? approve : undefined;
}

/** The tool with the demand added. The strictest demand applies: an operator before the caller, the caller before nobody. */
export function demanding<Rule extends ApprovalRule>(tool: Rule, demand: Approver | undefined): Rule {
  const own = approverOf(tool);
  if (demand === undefined || own === 'operator' || own === demand) return tool;
  return Object.assign(Object.create(tool) as Rule, { needsApproval: true, approve: demand });
}
