// Generated from the OpenAPI document by `npm run docs`. Do not edit.
import type { CallOptions, ConditionalCallOptions } from '../transport.js';
import type { Pages } from '../pages.js';
import type {
  AgentsClaimProbeData,
  AgentsClaimProbeResponse,
  AgentsDeregisterData,
  AgentsDrainData,
  AgentsDrainResponse,
  AgentsGetBudgetResponse,
  AgentsGetResponse,
  AgentsHeartbeatData,
  AgentsHeartbeatResponse,
  AgentsImportData,
  AgentsImportResponse,
  AgentsListData,
  AgentsListOutcomesData,
  AgentsListOutcomesResponse,
  AgentsListResponse,
  AgentsQuarantineData,
  AgentsQuarantineResponse,
  AgentsQueryData,
  AgentsQueryResponse,
  AgentsRegisterBatchData,
  AgentsRegisterBatchResponse,
  AgentsRegisterData,
  AgentsRegisterResponse,
  AgentsReportOutcomeData,
  AgentsReportOutcomeResponse,
  AgentsReportProgressData,
  AgentsReportProgressResponse,
  AgentsReportResultData,
  AgentsReportResultResponse,
  AgentsResumeData,
  AgentsResumeResponse,
  AgentsTakeTasksData,
  AgentsTakeTasksResponse,
  AgentsUpdateData,
  AgentsUpdateResponse,
  AuditListData,
  AuditListResponse,
  BudgetsAdjustData,
  BudgetsAdjustResponse,
  BudgetsForecastData,
  BudgetsForecastResponse,
  BudgetsGetReservationResponse,
  BudgetsGetResponse,
  BudgetsListData,
  BudgetsListLedgerData,
  BudgetsListLedgerResponse,
  BudgetsListResponse,
  BudgetsOpenData,
  BudgetsOpenResponse,
  BudgetsOpenRunData,
  BudgetsOpenRunResponse,
  BudgetsReconcileResponse,
  BudgetsReleaseResponse,
  BudgetsRenewData,
  BudgetsRenewResponse,
  BudgetsReserveData,
  BudgetsReserveResponse,
  BudgetsSettleData,
  BudgetsSettleResponse,
  BudgetsTopUpData,
  BudgetsTopUpResponse,
  ContractsAnnounceData,
  ContractsAnnounceResponse,
  ContractsBidData,
  ContractsBidResponse,
  ContractsCancelResponse,
  ContractsConfirmData,
  ContractsConfirmResponse,
  ContractsGetResponse,
  ContractsListData,
  ContractsListResponse,
  ContractsReportOutcomeData,
  ContractsReportOutcomeResponse,
  ConversationsDeleteData,
  ConversationsGetData,
  ConversationsGetResponse,
  ConversationsListData,
  ConversationsListResponse,
  DefinitionsDiffData,
  DefinitionsDiffResponse,
  DefinitionsGetCapabilitiesResponse,
  DefinitionsGetEffectiveResponse,
  DefinitionsGetResponse,
  DefinitionsGetRevisionResponse,
  DefinitionsImportData,
  DefinitionsImportResponse,
  DefinitionsListData,
  DefinitionsListResponse,
  DefinitionsListRevisionsData,
  DefinitionsListRevisionsResponse,
  DefinitionsPreviewData,
  DefinitionsPreviewResponse,
  DefinitionsRegisterData,
  DefinitionsRegisterResponse,
  DefinitionsReplaceData,
  DefinitionsReplaceResponse,
  EventsCreateTicketResponse,
  EventsPageData,
  EventsPageResponse,
  EventsSnapshotResponse,
  EventsStreamData,
  EventsStreamResponse,
  HealthLiveResponse,
  HealthReadyResponse,
  HeartbeatsSendData,
  HeartbeatsSendResponse,
  KeysGetResponse,
  KeysIssueData,
  KeysIssueResponse,
  KeysListData,
  KeysListResponse,
  KeysRevokeResponse,
  KeysRotateData,
  KeysRotateResponse,
  MeGetResponse,
  ModelsListResponse,
  ModelsResolveData,
  ModelsResolveResponse,
  NamespacesCreateData,
  NamespacesCreateResponse,
  NamespacesGetResponse,
  NamespacesListData,
  NamespacesListResponse,
  NamespacesUpdateData,
  NamespacesUpdateResponse,
  PluginsListResponse,
  ProtectionGetResponse,
  ProtectionOverrideData,
  ProtectionOverrideResponse,
  ProvidersListData,
  ProvidersListResponse,
  RegistrySummaryResponse,
  RunsCancelResponse,
  RunsDecideData,
  RunsDecideResponse,
  RunsExportResponse,
  RunsGetData,
  RunsGetResponse,
  RunsGetTreeResponse,
  RunsListData,
  RunsListFilesData,
  RunsListFilesResponse,
  RunsListResponse,
  RunsListStepsData,
  RunsListStepsResponse,
  RunsReadFileData,
  RunsReadFileResponse,
  RunsRetryResponse,
  RunsSendMessageData,
  RunsSendMessageResponse,
  RunsStartData,
  RunsStartResponse,
  RunsStreamData,
  RunsStreamResponse,
  RuntimeGetAgentResponse,
  RuntimeListAgentsData,
  RuntimeListAgentsResponse,
  RuntimeShutdownAgentData,
  RuntimeShutdownAgentResponse,
  RuntimeShutdownAllData,
  RuntimeShutdownAllResponse,
  RuntimeSpawnData,
  RuntimeSpawnResponse,
  SessionsCreateTicketData,
  SessionsCreateTicketResponse,
  SessionsExchangeTicketData,
  SessionsExchangeTicketResponse,
  SessionsOpenData,
  SessionsOpenResponse,
  SinksListResponse,
  SinksReplayData,
  SinksReplayResponse,
  SkillsGetResponse,
  SkillsListResponse,
  ToolsAcceptPinData,
  ToolsAcceptPinResponse,
  ToolsImportServerData,
  ToolsImportServerResponse,
  ToolsListPinsResponse,
  ToolsListResponse,
  UsageGetData,
  UsageGetResponse,
  WebhooksCreateData,
  WebhooksCreateResponse,
  WebhooksGetDeliveryResponse,
  WebhooksGetResponse,
  WebhooksListData,
  WebhooksListDeliveriesData,
  WebhooksListDeliveriesResponse,
  WebhooksListResponse,
  WebhooksReplayData,
  WebhooksReplayDeliveryResponse,
  WebhooksReplayResponse,
  WebhooksRotateSecretData,
  WebhooksRotateSecretResponse,
  WebhooksUpdateData,
  WebhooksUpdateResponse,
} from './schema.js';

/** All operations of the API: `agents.list` is the operation with this id. */
export interface Operations {
  health: {
    /** Check whether the process is alive. */
    live(options?: CallOptions): Promise<HealthLiveResponse>;
    /** Check whether this replica serves requests. */
    ready(options?: CallOptions): Promise<HealthReadyResponse>;
  };
  metrics: {
    /** Metrics of this replica for Prometheus. */
    scrape(options?: CallOptions): Promise<string>;
  };
  me: {
    /** Get the credential in use and its permissions. */
    get(options?: CallOptions): Promise<MeGetResponse>;
  };
  keys: {
    /** Issue an API key. */
    issue(input: NonNullable<KeysIssueData['body']>, options?: CallOptions): Promise<KeysIssueResponse>;
    /** List API keys, newest first. */
    list(input?: NonNullable<KeysListData['query']>, options?: CallOptions): Pages<KeysListResponse>;
    /** Get an API key. */
    get(id: string, options?: CallOptions): Promise<KeysGetResponse>;
    /** Revoke an API key. */
    revoke(id: string, options?: CallOptions): Promise<KeysRevokeResponse>;
    /** Replace an API key by a new one. */
    rotate(id: string, input: NonNullable<KeysRotateData['body']>, options?: CallOptions): Promise<KeysRotateResponse>;
  };
  sessions: {
    /** Exchange an API key for a session. */
    open(input: NonNullable<SessionsOpenData['body']>, options?: CallOptions): Promise<SessionsOpenResponse>;
    /** End the session that sends this request. */
    end(options?: CallOptions): Promise<void>;
    /** Create a ticket that opens one session. */
    createTicket(input: NonNullable<SessionsCreateTicketData['body']>, options?: CallOptions): Promise<SessionsCreateTicketResponse>;
    /** Exchange a ticket for a session. */
    exchangeTicket(input: NonNullable<SessionsExchangeTicketData['body']>, options?: CallOptions): Promise<SessionsExchangeTicketResponse>;
  };
  namespaces: {
    /** Create a namespace. */
    create(input: NonNullable<NamespacesCreateData['body']>, options?: CallOptions): Promise<NamespacesCreateResponse>;
    /** List namespaces by name. */
    list(input?: NonNullable<NamespacesListData['query']>, options?: CallOptions): Pages<NamespacesListResponse>;
    /** Get a namespace with its limits and present use. */
    get(name: string, options?: CallOptions): Promise<NamespacesGetResponse>;
    /** Change the description or the limits of a namespace. */
    update(name: string, input: NonNullable<NamespacesUpdateData['body']>, options?: CallOptions): Promise<NamespacesUpdateResponse>;
    /** Delete an empty namespace. */
    delete(name: string, options?: CallOptions): Promise<void>;
  };
  events: {
    /** Read a page of events. */
    page(input?: NonNullable<EventsPageData['query']>, options?: CallOptions): Promise<EventsPageResponse>;
    /** Follow events as server-sent events. */
    stream(input?: NonNullable<EventsStreamData['query']>, options?: CallOptions): AsyncGenerator<EventsStreamResponse, void>;
    /** Create a ticket for one WebSocket. */
    createTicket(options?: CallOptions): Promise<EventsCreateTicketResponse>;
    /** Get all agents of the namespace at one position of the event log. */
    snapshot(options?: CallOptions): Promise<EventsSnapshotResponse>;
  };
  agents: {
    /** Find agents by capability, health and cost. */
    query(input: NonNullable<AgentsQueryData['body']>, options?: CallOptions): Promise<AgentsQueryResponse>;
    /** Register many agents. */
    registerBatch(input: NonNullable<AgentsRegisterBatchData['body']>, options?: CallOptions): Promise<AgentsRegisterBatchResponse>;
    /** Register an agent. */
    register(input: NonNullable<AgentsRegisterData['body']>, options?: CallOptions): Promise<AgentsRegisterResponse>;
    /** List agents in the order of their agentIds. */
    list(input?: NonNullable<AgentsListData['query']>, options?: CallOptions): Pages<AgentsListResponse>;
    /** Get an agent. */
    get(id: string, options?: CallOptions): Promise<AgentsGetResponse>;
    /** Update an agent. */
    update(id: string, input: NonNullable<AgentsUpdateData['body']>, options?: ConditionalCallOptions): Promise<AgentsUpdateResponse>;
    /** Deregister an agent. */
    deregister(id: string, input?: NonNullable<AgentsDeregisterData['query']>, options?: CallOptions): Promise<void>;
    /** Evict an agent. */
    evict(id: string, options?: CallOptions): Promise<void>;
    /** Drain an agent. */
    drain(id: string, input: NonNullable<AgentsDrainData['body']>, options?: CallOptions): Promise<AgentsDrainResponse>;
    /** Quarantine an agent. */
    quarantine(id: string, input: NonNullable<AgentsQuarantineData['body']>, options?: CallOptions): Promise<AgentsQuarantineResponse>;
    /** Resume an agent that is draining or in quarantine. */
    resume(id: string, input: NonNullable<AgentsResumeData['body']>, options?: CallOptions): Promise<AgentsResumeResponse>;
    /** Renew the lease of an agent. */
    heartbeat(id: string, input: NonNullable<AgentsHeartbeatData['body']>, options?: CallOptions): Promise<AgentsHeartbeatResponse>;
    /** Take tasks. */
    takeTasks(id: string, input: NonNullable<AgentsTakeTasksData['body']>, options?: CallOptions): Promise<AgentsTakeTasksResponse>;
    /** Report the progress of a task. */
    reportProgress(id: string, callId: string, input: NonNullable<AgentsReportProgressData['body']>, options?: CallOptions): Promise<AgentsReportProgressResponse>;
    /** Report the result of a task. */
    reportResult(id: string, callId: string, input: NonNullable<AgentsReportResultData['body']>, options?: CallOptions): Promise<AgentsReportResultResponse>;
    /** Report the outcome of a call to an agent. */
    reportOutcome(id: string, input: NonNullable<AgentsReportOutcomeData['body']>, options?: CallOptions): Promise<AgentsReportOutcomeResponse>;
    /** List the latest outcomes of an agent, newest first. */
    listOutcomes(id: string, input?: NonNullable<AgentsListOutcomesData['query']>, options?: CallOptions): Pages<AgentsListOutcomesResponse>;
    /** Claim the probe of a half-open circuit. */
    claimProbe(id: string, input: NonNullable<AgentsClaimProbeData['body']>, options?: CallOptions): Promise<AgentsClaimProbeResponse>;
    /** Get the budgets of an agent. */
    getBudget(id: string, options?: CallOptions): Promise<AgentsGetBudgetResponse>;
    /** Register the agents of a catalog. */
    import(input: NonNullable<AgentsImportData['body']>, options?: CallOptions): Promise<AgentsImportResponse>;
  };
  protection: {
    /** Get the state of self-preservation. */
    get(options?: CallOptions): Promise<ProtectionGetResponse>;
    /** Override self-preservation. */
    override(input: NonNullable<ProtectionOverrideData['body']>, options?: CallOptions): Promise<ProtectionOverrideResponse>;
  };
  heartbeats: {
    /** Renew the leases of many agents. */
    send(input: NonNullable<HeartbeatsSendData['body']>, options?: CallOptions): Promise<HeartbeatsSendResponse>;
  };
  budgets: {
    /** Reserve an amount before a call. */
    reserve(input: NonNullable<BudgetsReserveData['body']>, options?: CallOptions): Promise<BudgetsReserveResponse>;
    /** Get a reservation of the caller. */
    getReservation(key: string, options?: CallOptions): Promise<BudgetsGetReservationResponse>;
    /** Charge what a call used. */
    settle(key: string, input: NonNullable<BudgetsSettleData['body']>, options?: CallOptions): Promise<BudgetsSettleResponse>;
    /** Release a reservation. */
    release(key: string, options?: CallOptions): Promise<BudgetsReleaseResponse>;
    /** Extend a reservation. */
    renew(key: string, input: NonNullable<BudgetsRenewData['body']>, options?: CallOptions): Promise<BudgetsRenewResponse>;
    /** Open a budget. */
    open(input: NonNullable<BudgetsOpenData['body']>, options?: CallOptions): Promise<BudgetsOpenResponse>;
    /** List budgets in the order they were opened. */
    list(input?: NonNullable<BudgetsListData['query']>, options?: CallOptions): Pages<BudgetsListResponse>;
    /** Open the budget of a run. */
    openRun(input: NonNullable<BudgetsOpenRunData['body']>, options?: CallOptions): Promise<BudgetsOpenRunResponse>;
    /** Compare the counters of all visible budgets with the ledger. */
    reconcile(options?: CallOptions): Promise<BudgetsReconcileResponse>;
    /** Get a budget. */
    get(id: string, options?: CallOptions): Promise<BudgetsGetResponse>;
    /** Raise the limit of a budget. */
    topUp(id: string, input: NonNullable<BudgetsTopUpData['body']>, options?: CallOptions): Promise<BudgetsTopUpResponse>;
    /** Set the limits or the usage of a budget. */
    adjust(id: string, input: NonNullable<BudgetsAdjustData['body']>, options?: CallOptions): Promise<BudgetsAdjustResponse>;
    /** List the ledger of a budget, newest first. */
    listLedger(id: string, input?: NonNullable<BudgetsListLedgerData['query']>, options?: CallOptions): Pages<BudgetsListLedgerResponse>;
    /** Estimate when a budget runs out. */
    forecast(id: string, input?: NonNullable<BudgetsForecastData['query']>, options?: CallOptions): Promise<BudgetsForecastResponse>;
  };
  registry: {
    /** Count agents, budgets and runs by their state. */
    summary(options?: CallOptions): Promise<RegistrySummaryResponse>;
  };
  usage: {
    /** Read usage over time by agent, definition, caller or model. */
    get(input: NonNullable<UsageGetData['query']>, options?: CallOptions): Promise<UsageGetResponse>;
  };
  definitions: {
    /** Register a definition of an agent. */
    register(input: NonNullable<DefinitionsRegisterData['body']>, options?: CallOptions): Promise<DefinitionsRegisterResponse>;
    /** List definitions by name. */
    list(input?: NonNullable<DefinitionsListData['query']>, options?: CallOptions): Pages<DefinitionsListResponse>;
    /** Explain a definition that is not registered. */
    preview(input: NonNullable<DefinitionsPreviewData['body']>, options?: CallOptions): Promise<DefinitionsPreviewResponse>;
    /** Get a definition. */
    get(name: string, options?: CallOptions): Promise<DefinitionsGetResponse>;
    /** Replace a definition. */
    replace(name: string, input: NonNullable<DefinitionsReplaceData['body']>, options?: ConditionalCallOptions): Promise<DefinitionsReplaceResponse>;
    /** Remove a definition. */
    unregister(name: string, options?: CallOptions): Promise<void>;
    /** Get the capabilities of a definition. */
    getCapabilities(name: string, options?: CallOptions): Promise<DefinitionsGetCapabilitiesResponse>;
    /** Explain a definition. */
    getEffective(name: string, options?: CallOptions): Promise<DefinitionsGetEffectiveResponse>;
    /** List the revisions of a definition. */
    listRevisions(name: string, input?: NonNullable<DefinitionsListRevisionsData['query']>, options?: CallOptions): Pages<DefinitionsListRevisionsResponse>;
    /** Get a revision of a definition. */
    getRevision(name: string, revision: string | number, options?: CallOptions): Promise<DefinitionsGetRevisionResponse>;
    /** Compare two revisions of a definition. */
    diff(name: string, input: NonNullable<DefinitionsDiffData['query']>, options?: CallOptions): Promise<DefinitionsDiffResponse>;
    /** Import definitions from spec files. */
    import(input: NonNullable<DefinitionsImportData['body']> & NonNullable<DefinitionsImportData['query']>, options?: CallOptions): Promise<DefinitionsImportResponse>;
  };
  runtime: {
    /** Spawn an agent. */
    spawn(input: NonNullable<RuntimeSpawnData['body']>, options?: CallOptions): Promise<RuntimeSpawnResponse>;
    /** List the agents that replicas host. */
    listAgents(input?: NonNullable<RuntimeListAgentsData['query']>, options?: CallOptions): Pages<RuntimeListAgentsResponse>;
    /** Get an agent that a replica hosts. */
    getAgent(name: string, options?: CallOptions): Promise<RuntimeGetAgentResponse>;
    /** Shut down an agent. */
    shutdownAgent(name: string, input?: NonNullable<RuntimeShutdownAgentData['query']>, options?: CallOptions): Promise<RuntimeShutdownAgentResponse>;
    /** Shut down all agents of the namespace. */
    shutdownAll(input: NonNullable<RuntimeShutdownAllData['body']>, options?: CallOptions): Promise<RuntimeShutdownAllResponse>;
  };
  models: {
    /** List model presets and model vendors. */
    list(options?: CallOptions): Promise<ModelsListResponse>;
    /** Resolve a model name. */
    resolve(input?: NonNullable<ModelsResolveData['query']>, options?: CallOptions): Promise<ModelsResolveResponse>;
  };
  providers: {
    /** List agent providers and model vendors. */
    list(input?: NonNullable<ProvidersListData['query']>, options?: CallOptions): Promise<ProvidersListResponse>;
  };
  runs: {
    /** Start a run. */
    start(input: NonNullable<RunsStartData['body']> & NonNullable<RunsStartData['query']>, options?: CallOptions): Promise<RunsStartResponse>;
    /** List runs. */
    list(input?: NonNullable<RunsListData['query']>, options?: CallOptions): Pages<RunsListResponse>;
    /** Get a run. */
    get(id: string, input?: NonNullable<RunsGetData['query']>, options?: CallOptions): Promise<RunsGetResponse>;
    /** List the steps of a run. */
    listSteps(id: string, input?: NonNullable<RunsListStepsData['query']>, options?: CallOptions): Pages<RunsListStepsResponse>;
    /** Cancel a run. */
    cancel(id: string, options?: CallOptions): Promise<RunsCancelResponse>;
    /** Follow a run as server-sent events. */
    stream(id: string, input?: NonNullable<RunsStreamData['query']>, options?: CallOptions): AsyncGenerator<RunsStreamResponse, void>;
    /** Get a run with its descendants. */
    getTree(id: string, options?: CallOptions): Promise<RunsGetTreeResponse>;
    /** Export a run. */
    export(id: string, options?: CallOptions): Promise<RunsExportResponse>;
    /** List the files of a run. */
    listFiles(id: string, input?: NonNullable<RunsListFilesData['query']>, options?: CallOptions): Pages<RunsListFilesResponse>;
    /** Read a file of a run. */
    readFile(id: string, input: NonNullable<RunsReadFileData['query']>, options?: CallOptions): Promise<RunsReadFileResponse>;
    /** Answer a question of a run. */
    sendMessage(id: string, input: NonNullable<RunsSendMessageData['body']> & NonNullable<RunsSendMessageData['query']>, options?: CallOptions): Promise<RunsSendMessageResponse>;
    /** Approve or reject a call. */
    decide(id: string, input: NonNullable<RunsDecideData['body']> & NonNullable<RunsDecideData['query']>, options?: CallOptions): Promise<RunsDecideResponse>;
    /** Repeat a finished run. */
    retry(id: string, options?: CallOptions): Promise<RunsRetryResponse>;
  };
  conversations: {
    /** List conversations. */
    list(input?: NonNullable<ConversationsListData['query']>, options?: CallOptions): Pages<ConversationsListResponse>;
    /** Get a conversation with its messages and its cost. */
    get(id: string, input?: NonNullable<ConversationsGetData['query']>, options?: CallOptions): Pages<ConversationsGetResponse>;
    /** Delete a conversation. */
    delete(id: string, input?: NonNullable<ConversationsDeleteData['query']>, options?: CallOptions): Promise<void>;
  };
  contracts: {
    /** Announce a contract. */
    announce(input: NonNullable<ContractsAnnounceData['body']>, options?: CallOptions): Promise<ContractsAnnounceResponse>;
    /** List contracts. */
    list(input?: NonNullable<ContractsListData['query']>, options?: CallOptions): Pages<ContractsListResponse>;
    /** Get a contract with its transcript. */
    get(id: string, options?: CallOptions): Promise<ContractsGetResponse>;
    /** Bid for a contract. */
    bid(id: string, input: NonNullable<ContractsBidData['body']>, options?: CallOptions): Promise<ContractsBidResponse>;
    /** Confirm or decline an award. */
    confirm(id: string, input: NonNullable<ContractsConfirmData['body']>, options?: CallOptions): Promise<ContractsConfirmResponse>;
    /** Cancel a contract. */
    cancel(id: string, options?: CallOptions): Promise<ContractsCancelResponse>;
    /** Report the actual cost and time of the work. */
    reportOutcome(id: string, input: NonNullable<ContractsReportOutcomeData['body']>, options?: CallOptions): Promise<ContractsReportOutcomeResponse>;
  };
  skills: {
    /** List skills. */
    list(options?: CallOptions): Promise<SkillsListResponse>;
    /** Get a skill. */
    get(name: string, options?: CallOptions): Promise<SkillsGetResponse>;
  };
  sinks: {
    /** List the progress of webhooks and of NATS. */
    list(options?: CallOptions): Promise<SinksListResponse>;
    /** Continue a sink from a sequence. */
    replay(id: string, input: NonNullable<SinksReplayData['body']>, options?: CallOptions): Promise<SinksReplayResponse>;
  };
  tools: {
    /** List the tools of agents. */
    list(options?: CallOptions): Promise<ToolsListResponse>;
    /** List the definitions of tools of MCP servers. */
    listPins(options?: CallOptions): Promise<ToolsListPinsResponse>;
    /** Accept the definition of a tool. */
    acceptPin(server: string, tool: string, input: NonNullable<ToolsAcceptPinData['body']>, options?: CallOptions): Promise<ToolsAcceptPinResponse>;
    /** Convert a server.json to the settings of an MCP server. */
    importServer(input: NonNullable<ToolsImportServerData['body']>, options?: CallOptions): Promise<ToolsImportServerResponse>;
  };
  plugins: {
    /** List the plugins. */
    list(options?: CallOptions): Promise<PluginsListResponse>;
  };
  audit: {
    /** List audited actions, newest first. */
    list(input?: NonNullable<AuditListData['query']>, options?: CallOptions): Pages<AuditListResponse>;
  };
  webhooks: {
    /** Create a webhook. */
    create(input: NonNullable<WebhooksCreateData['body']>, options?: CallOptions): Promise<WebhooksCreateResponse>;
    /** List webhooks, newest first. */
    list(input?: NonNullable<WebhooksListData['query']>, options?: CallOptions): Pages<WebhooksListResponse>;
    /** Get a webhook and its progress. */
    get(id: string, options?: CallOptions): Promise<WebhooksGetResponse>;
    /** Update or pause a webhook. */
    update(id: string, input: NonNullable<WebhooksUpdateData['body']>, options?: CallOptions): Promise<WebhooksUpdateResponse>;
    /** Delete a webhook. */
    delete(id: string, options?: CallOptions): Promise<void>;
    /** Replace the secret of a webhook. */
    rotateSecret(id: string, input: NonNullable<WebhooksRotateSecretData['body']>, options?: CallOptions): Promise<WebhooksRotateSecretResponse>;
    /** Deliver events again. */
    replay(id: string, input: NonNullable<WebhooksReplayData['body']>, options?: CallOptions): Promise<WebhooksReplayResponse>;
    /** List deliveries, newest first. */
    listDeliveries(id: string, input?: NonNullable<WebhooksListDeliveriesData['query']>, options?: CallOptions): Pages<WebhooksListDeliveriesResponse>;
    /** Get the delivery of an event. */
    getDelivery(id: string, sequence: string, options?: CallOptions): Promise<WebhooksGetDeliveryResponse>;
    /** Deliver one event again. */
    replayDelivery(id: string, sequence: string, options?: CallOptions): Promise<WebhooksReplayDeliveryResponse>;
  };
}

/** The method, the path, and how input and response are sent. `call.ts` describes the words. */
export const OPERATIONS = {
  health: {
    live: 'GET /health/live',
    ready: 'GET /health/ready',
  },
  metrics: {
    scrape: 'GET /metrics text',
  },
  me: {
    get: 'GET /v1/me',
  },
  keys: {
    issue: 'POST /v1/keys body',
    list: 'GET /v1/keys query pages',
    get: 'GET /v1/keys/{id}',
    revoke: 'DELETE /v1/keys/{id}',
    rotate: 'POST /v1/keys/{id}/rotate body',
  },
  sessions: {
    open: 'POST /v1/sessions body',
    end: 'DELETE /v1/sessions/current',
    createTicket: 'POST /v1/sessions/tickets body',
    exchangeTicket: 'POST /v1/sessions/tickets/exchange body',
  },
  namespaces: {
    create: 'POST /v1/namespaces body',
    list: 'GET /v1/namespaces query pages',
    get: 'GET /v1/namespaces/{name}',
    update: 'PATCH /v1/namespaces/{name} body',
    delete: 'DELETE /v1/namespaces/{name}',
  },
  events: {
    page: 'GET /v1/events query',
    stream: 'GET /v1/events/stream query stream',
    createTicket: 'POST /v1/events/tickets',
    snapshot: 'GET /v1/events/snapshot',
  },
  agents: {
    query: 'POST /v1/agents/query body repeatable',
    registerBatch: 'POST /v1/agents/batch body',
    register: 'POST /v1/agents body',
    list: 'GET /v1/agents query pages',
    get: 'GET /v1/agents/{id}',
    update: 'PATCH /v1/agents/{id} body',
    deregister: 'DELETE /v1/agents/{id} query',
    evict: 'POST /v1/agents/{id}/evict',
    drain: 'POST /v1/agents/{id}/drain body',
    quarantine: 'POST /v1/agents/{id}/quarantine body',
    resume: 'POST /v1/agents/{id}/resume body',
    heartbeat: 'POST /v1/agents/{id}/heartbeat body repeatable',
    takeTasks: 'POST /v1/agents/{id}/tasks/take body repeatable',
    reportProgress: 'POST /v1/agents/{id}/tasks/{callId}/progress body repeatable',
    reportResult: 'POST /v1/agents/{id}/tasks/{callId}/result body repeatable',
    reportOutcome: 'POST /v1/agents/{id}/outcomes body',
    listOutcomes: 'GET /v1/agents/{id}/outcomes query pages',
    claimProbe: 'POST /v1/agents/{id}/probe body',
    getBudget: 'GET /v1/agents/{id}/budget',
    import: 'POST /v1/agent-imports body',
  },
  protection: {
    get: 'GET /v1/registry/protection',
    override: 'PUT /v1/registry/protection body',
  },
  heartbeats: {
    send: 'POST /v1/heartbeats body repeatable',
  },
  budgets: {
    reserve: 'POST /v1/budgets/reservations body',
    getReservation: 'GET /v1/budgets/reservations/{key}',
    settle: 'POST /v1/budgets/reservations/{key}/settle body',
    release: 'POST /v1/budgets/reservations/{key}/release',
    renew: 'POST /v1/budgets/reservations/{key}/renew body',
    open: 'POST /v1/budgets body',
    list: 'GET /v1/budgets query pages',
    openRun: 'POST /v1/budgets/runs body',
    reconcile: 'GET /v1/budgets/reconciliation',
    get: 'GET /v1/budgets/{id}',
    topUp: 'POST /v1/budgets/{id}/topup body',
    adjust: 'POST /v1/budgets/{id}/adjust body',
    listLedger: 'GET /v1/budgets/{id}/ledger query pages',
    forecast: 'GET /v1/budgets/{id}/forecast query',
  },
  registry: {
    summary: 'GET /v1/registry/summary',
  },
  usage: {
    get: 'GET /v1/usage query',
  },
  definitions: {
    register: 'POST /v1/definitions body',
    list: 'GET /v1/definitions query pages',
    preview: 'POST /v1/definitions/effective body repeatable',
    get: 'GET /v1/definitions/{name}',
    replace: 'PUT /v1/definitions/{name} body',
    unregister: 'DELETE /v1/definitions/{name}',
    getCapabilities: 'GET /v1/definitions/{name}/capabilities',
    getEffective: 'GET /v1/definitions/{name}/effective',
    listRevisions: 'GET /v1/definitions/{name}/revisions query pages',
    getRevision: 'GET /v1/definitions/{name}/revisions/{revision}',
    diff: 'GET /v1/definitions/{name}/diff query',
    import: 'POST /v1/definition-imports body ?strict,dryRun',
  },
  runtime: {
    spawn: 'POST /v1/runtime/agents body',
    listAgents: 'GET /v1/runtime/agents query pages',
    getAgent: 'GET /v1/runtime/agents/{name}',
    shutdownAgent: 'DELETE /v1/runtime/agents/{name} query',
    shutdownAll: 'POST /v1/runtime/shutdown body',
  },
  models: {
    list: 'GET /v1/models',
    resolve: 'GET /v1/models/resolve query',
  },
  providers: {
    list: 'GET /v1/providers query',
  },
  runs: {
    start: 'POST /v1/runs body ?waitMs',
    list: 'GET /v1/runs query pages',
    get: 'GET /v1/runs/{id} query',
    listSteps: 'GET /v1/runs/{id}/steps query pages',
    cancel: 'POST /v1/runs/{id}/cancel',
    stream: 'GET /v1/runs/{id}/stream query stream',
    getTree: 'GET /v1/runs/{id}/tree',
    export: 'GET /v1/runs/{id}/export',
    listFiles: 'GET /v1/runs/{id}/files query pages',
    readFile: 'GET /v1/runs/{id}/files/content query',
    sendMessage: 'POST /v1/runs/{id}/messages body ?waitMs',
    decide: 'POST /v1/runs/{id}/approvals body ?waitMs',
    retry: 'POST /v1/runs/{id}/retry',
  },
  conversations: {
    list: 'GET /v1/conversations query pages',
    get: 'GET /v1/conversations/{id} query pages',
    delete: 'DELETE /v1/conversations/{id} query',
  },
  contracts: {
    announce: 'POST /v1/contracts body',
    list: 'GET /v1/contracts query pages',
    get: 'GET /v1/contracts/{id}',
    bid: 'POST /v1/contracts/{id}/bids body repeatable',
    confirm: 'POST /v1/contracts/{id}/confirm body',
    cancel: 'POST /v1/contracts/{id}/cancel',
    reportOutcome: 'POST /v1/contracts/{id}/outcome body',
  },
  skills: {
    list: 'GET /v1/skills',
    get: 'GET /v1/skills/{name}',
  },
  sinks: {
    list: 'GET /v1/sinks',
    replay: 'POST /v1/sinks/{id}/replay body',
  },
  tools: {
    list: 'GET /v1/tools',
    listPins: 'GET /v1/tools/pins',
    acceptPin: 'POST /v1/tools/pins/{server}/{tool}/accept body',
    importServer: 'POST /v1/toolbox-imports body repeatable',
  },
  plugins: {
    list: 'GET /v1/plugins',
  },
  audit: {
    list: 'GET /v1/audit query pages',
  },
  webhooks: {
    create: 'POST /v1/webhooks body',
    list: 'GET /v1/webhooks query pages',
    get: 'GET /v1/webhooks/{id}',
    update: 'PATCH /v1/webhooks/{id} body',
    delete: 'DELETE /v1/webhooks/{id}',
    rotateSecret: 'POST /v1/webhooks/{id}/rotate body',
    replay: 'POST /v1/webhooks/{id}/replay body',
    listDeliveries: 'GET /v1/webhooks/{id}/deliveries query pages',
    getDelivery: 'GET /v1/webhooks/{id}/deliveries/{sequence}',
    replayDelivery: 'POST /v1/webhooks/{id}/deliveries/{sequence}/replay',
  },
} as const;
