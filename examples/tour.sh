#!/usr/bin/env sh
# The five minutes of the README as a script. Start Rollcall in another terminal: npm start
#   API=http://127.0.0.1:8080 KEY_FILE=.rollcall/admin.key sh examples/tour.sh
set -eu
API=${API:-http://127.0.0.1:8080}
AUTH="Authorization: Bearer $(cat "${KEY_FILE:-.rollcall/admin.key}")"
JSON='Content-Type: application/json'

echo '# Who am I?'
curl -sS --fail-with-body -H "$AUTH" "$API/v1/me"

printf '\n\n# A key for a dashboard; sent twice, issued once\n'
for _ in 1 2; do
  curl -sS --fail-with-body -X POST -H "$AUTH" -H "$JSON" -H 'Idempotency-Key: tour-1' \
    -d '{"name":"dashboard","roles":["viewer"]}' "$API/v1/keys"
  echo
done

printf '\n# What is wrong is said in one go\n'
curl -sS -X POST -H "$AUTH" -H "$JSON" -d '{"name":" ","roles":["king"]}' "$API/v1/keys"

printf '\n\n# And who did what is on record\n'
curl -sS --fail-with-body -H "$AUTH" "$API/v1/audit?limit=1"
echo
