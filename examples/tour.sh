#!/usr/bin/env sh
# The tour of the registry (docs/registry-tour.md) as a script. Start Rollcall in another terminal: npm start
#   ROLLCALL_URL=http://127.0.0.1:8080 KEY_FILE=.rollcall/admin.key sh examples/tour.sh
set -eu
ROLLCALL_URL=${ROLLCALL_URL:-http://127.0.0.1:8080}
AUTH="Authorization: Bearer $(cat "${KEY_FILE:-.rollcall/admin.key}")"
JSON='Content-Type: application/json'

echo '# The credential in use'
curl -sS --fail-with-body -H "$AUTH" "$ROLLCALL_URL/v1/me"

printf '\n\n# Register two agents, and send a heartbeat\n'
curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" "$ROLLCALL_URL/v1/agents" -d '{
  "agentId": "builder-01", "takeover": true, "name": "swarm-builder", "capabilities": ["plan", "build"], "costModel": {"usdPerTask": 0},
  "provider": {"adapter": "copilot", "type": "subscription"}, "budget": {"totalTokens": 500000, "usedTokens": 123456}}'
echo
JOINED=$(curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" "$ROLLCALL_URL/v1/agents" -d '{
  "agentId": "builder-02", "takeover": true, "name": "api-builder", "capabilities": ["build"], "costModel": {"usdPer1kTokens": 0.003}}')
LEASE=$(echo "$JOINED" | sed 's/.*"leaseToken":"\([^"]*\)".*/\1/')
GENERATION=$(echo "$JOINED" | sed 's/.*"generation":\([0-9]*\),"leaseToken.*/\1/')
curl -sS --fail-with-body -X POST -H "Authorization: Bearer $LEASE" -H "$JSON" \
  -d '{"generation":'"$GENERATION"',"inFlight":2}' "$ROLLCALL_URL/v1/agents/builder-02/heartbeat"

printf '\n\n# Query agents that can build\n'
curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" "$ROLLCALL_URL/v1/agents/query" -d '{"capabilities": ["build"], "prefer": "cheapest"}'

printf '\n\n# Quarantine an agent; the query explains why it is excluded\n'
curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" -d '{"note":"wrong answers"}' "$ROLLCALL_URL/v1/agents/builder-01/quarantine"
echo
curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" -d '{"capabilities":["build"],"explain":true,"consistency":"strong"}' \
  "$ROLLCALL_URL/v1/agents/query"

printf '\n\n# Resume it, so that the tour can be repeated\n'
curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" "$ROLLCALL_URL/v1/agents/builder-01/resume"

printf '\n\n# Read events\n'
curl -sS --fail-with-body -H "$AUTH" "$ROLLCALL_URL/v1/events?after=0&types=agent.quarantined&waitMs=2000"

printf '\n\n# Issue a key; with an Idempotency-Key, the repeated request issues no second key\n'
for _ in 1 2; do
  curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" -H 'Idempotency-Key: tour-1' \
    -d '{"name":"dashboard","roles":["viewer"]}' "$ROLLCALL_URL/v1/keys"
  echo
done

printf '\n# The response to an invalid request lists all errors\n'
curl -sS -X POST -H "$AUTH" -H "$JSON" -d '{"name":" ","roles":["king"]}' "$ROLLCALL_URL/v1/keys"

printf '\n\n# Read the audit log\n'
curl -sS --fail-with-body -H "$AUTH" "$ROLLCALL_URL/v1/audit?limit=1"
echo
