#!/bin/sh
# curl against `crag serve`: a document added, searched, asked about, texts reranked, and a chat as it is written.
#
# In one terminal:  python -m crag serve --workspace examples
# In another:       sh examples/curl.sh [ADDRESS]
# With tokens:      CRAG_TOKENS=secret=examples python -m crag serve      TOKEN=secret sh examples/curl.sh
set -eu
address=${1:-http://127.0.0.1:8000}

call() { # PATH, then what else curl is given
    echo "== $1" && path=$1 && shift
    curl --silent --show-error --fail-with-body --no-buffer --header "Authorization: Bearer ${TOKEN:-none}" \
        --header "X-Client-Name: examples/curl.sh" "$address/v1/$path" "$@"
    echo
}

json() { # PATH, BODY
    call "$1" --header "Content-Type: application/json" --data "$2"
}

call documents --form "file=@samples/web/ntsb-chi08ca047.html"

json search '{"query": "airplane on snow", "k": 2}'

json ask '{"question": "On what did the Cessna skid after landing on runway 04 at Wausau?"}'

json rerank '{"model": "crag-rerank", "query": "How long is the warranty?", "documents": [
    "Invoices are due within thirty days of receipt.",
    "Claims under the warranty end two years after delivery."]}'

json chat/completions '{"model": "crag", "stream": true, "messages": [
    {"role": "user", "content": "What did the nosewheel of the Cessna dig into at Wausau?"}]}'
